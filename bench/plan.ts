/** How much to measure. */
export interface Plan {
  /** Each round restarts every server. The table shows medians. */
  readonly rounds: number;
  /**
   * Rates vary most from one moment to the next, so each server shows its peak several times a
   * round.
   */
  readonly rates: { readonly rounds: number; readonly peaks: number; readonly peakSeconds: number };
  /** How long each server is loaded at each concurrency in each round. */
  readonly latency: { readonly rounds: number; readonly seconds: number };
  readonly warmUpSeconds: number;
  readonly peakSeconds: number;
  /** A generator that has just started is slow, which must not count against the server. */
  readonly paced: { readonly warmUpSeconds: number; readonly seconds: number };
  readonly memorySteps: number;
  readonly memoryStepPlants: number;
  readonly fullStorePlants: number;
  readonly starts: number;
}

export const wholePlan: Plan = {
  rounds: 3,
  rates: { rounds: 7, peaks: 4, peakSeconds: 2 },
  latency: { rounds: 5, seconds: 2 },
  warmUpSeconds: 3,
  peakSeconds: 5,
  paced: { warmUpSeconds: 1, seconds: 5 },
  memorySteps: 10,
  memoryStepPlants: 100_000,
  fullStorePlants: 10_000_000,
  starts: 10,
};

/** Checks that everything works. Its figures mean nothing. */
export const quickPlan: Plan = {
  rounds: 1,
  rates: { rounds: 1, peaks: 2, peakSeconds: 1 },
  latency: { rounds: 1, seconds: 1 },
  warmUpSeconds: 1,
  peakSeconds: 1,
  paced: { warmUpSeconds: 1, seconds: 1 },
  memorySteps: 4,
  memoryStepPlants: 3000,
  fullStorePlants: 100_000,
  starts: 3,
};

/** Concurrent requests: the number of connections, and of requests on each. */
export interface Concurrency {
  readonly connections: number;
  readonly streams: number;
}

/** From a single caller to more than one commit can hold. */
export const latencyConcurrency: readonly {
  readonly atATime: number;
  readonly http1: Concurrency;
  readonly grpc: Concurrency;
}[] = [1, 4, 16, 64, 256].map((atATime) => ({
  atATime,
  http1: { connections: atATime, streams: 1 },
  grpc: { connections: Math.min(4, atATime), streams: Math.ceil(atATime / 4) },
}));

/** Enough to keep each server busy all the time, with shared commits. */
export const concurrency = {
  http1: { connections: 128, streams: 1 },
  grpc: { connections: 4, streams: 32 },
} as const;

/** For comparing store engines: enough connections for every thread and server. */
export const storeConcurrency = { connections: 8, streams: 32 } as const;

/** Enough for requests that fall due faster than answers arrive. */
export const pacedConcurrency = {
  http1: { connections: 128, streams: 1 },
  grpc: { connections: 4, streams: 100 },
} as const;

/** The share of a server's highest rate at which its latency is measured. */
export const pacedShare = 0.8;
