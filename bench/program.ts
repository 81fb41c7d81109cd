/** A program to measure, and how to start it. */
export interface Program {
  /** A description for the report: what it is, and what it does for a request. */
  readonly settings: string;
  /** Whether a plant is on disk before the answer. Default: no. */
  readonly isDurable?: boolean;
  /**
   * Call before the first open. @returns what is missing on this machine to build it, if anything.
   */
  build?(): Promise<string | undefined>;
  /** @param folder An empty directory on a real disk, only for this start. */
  open(folder: string): Start | Promise<Start>;
}

/** A command line, with what it needs. */
export interface Start {
  /** A standalone program. Default: Node. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Set if the program stores plants. */
  readonly store?: ProgramStore;
}

export interface ProgramStore {
  /** Call after the program has ended. */
  countPlants(): number | Promise<number>;
  /** Fills the empty store before the program starts. */
  fill(plants: number): void | Promise<void>;
}
