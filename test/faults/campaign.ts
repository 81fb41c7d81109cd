/** A series of faults under load, and what the service was found to do wrong meanwhile. */
export interface Campaign {
  readonly name: string;
  /** @throws Only where the campaign itself is broken; what the service does wrong is `found`. */
  run(options: CampaignOptions): Promise<CampaignResult>;
}

export interface CampaignOptions {
  /** Decides the whole plan: which faults, in which order, with which plants. */
  readonly seed: number;
  /** How long it may take, about; it tries fewer faults rather than overrun. */
  readonly minutes: number;
  readonly log: (line: string) => void;
  /** Aborts when the run is to end early: no new fault is begun. */
  readonly signal: AbortSignal;
}

export interface CampaignResult {
  /** How often each fault was done, and what there was of load. */
  readonly tried: Readonly<Record<string, number>>;
  /** A line for each broken promise; the first part that has any may be the last. */
  readonly found: readonly string[];
  /** What could not be tried on this machine, and why. */
  readonly skipped?: string;
}
