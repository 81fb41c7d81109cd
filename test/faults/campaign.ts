/** A series of faults under load, which finds broken promises of the service. */
export interface Campaign {
  readonly name: string;
  /** @throws Only if the campaign itself is broken; what the service does wrong is `found`. */
  run(options: CampaignOptions): Promise<CampaignResult>;
}

export interface CampaignOptions {
  /** Determines the whole plan: which faults, in which order, with which plants. */
  readonly seed: number;
  /** The approximate duration. The campaign tries fewer faults rather than take longer. */
  readonly minutes: number;
  readonly log: (line: string) => void;
  /** Aborts if the run is to end early: no new fault is started. */
  readonly signal: AbortSignal;
}

export interface CampaignResult {
  /** How often each fault was injected, and how much load there was. */
  readonly tried: Readonly<Record<string, number>>;
  /** A line for each broken promise. The campaign may stop after the first part that has any. */
  readonly found: readonly string[];
  /** What could not be tested on this machine, and why. */
  readonly skipped?: string;
}
