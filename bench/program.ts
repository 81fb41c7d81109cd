/** What is measured, and how it is started. */
export interface Program {
  /** For people: what it is, and what it does for a request. */
  readonly settings: string;
  /** Whether a plant is on disk before its answer. Default: no. */
  readonly isDurable?: boolean;
  /** Call before the first open. @returns what is missing on this machine to build it, if anything. */
  build?(): Promise<string | undefined>;
  /** @param folder An empty folder on a real disk, for this start alone. */
  open(folder: string): Start | Promise<Start>;
}

/** A command line, and what belongs to it. */
export interface Start {
  /** A program that runs by itself. Default: Node. */
  readonly command?: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Of a program that stores plants. */
  readonly store?: ProgramStore;
}

export interface ProgramStore {
  /** After the program has ended. */
  countPlants(): number | Promise<number>;
  /** Fills the empty store before the program starts. */
  fill(plants: number): void | Promise<void>;
}
