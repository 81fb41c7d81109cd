/** How much is measured. */
export interface Plan {
  /** Each starts every server anew; the table shows medians. */
  readonly rounds: number;
  /** Rates differ most from one moment to the next: each server shows its peak several times a round. */
  readonly rates: { readonly rounds: number; readonly peaks: number; readonly peakSeconds: number };
  /** How long each server is loaded at each number of requests at a time, in each round. */
  readonly latency: { readonly rounds: number; readonly seconds: number };
  readonly warmUpSeconds: number;
  readonly peakSeconds: number;
  /** A generator that has just started answers late; that is not the server's. */
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

/** Shows that all of it works; its figures are no figures. */
export const quickPlan: Plan = {
  rounds: 1,
  rates: { rounds: 1, peaks: 2, peakSeconds: 1 },
  latency: { rounds: 1, seconds: 0.3 },
  warmUpSeconds: 1,
  peakSeconds: 1,
  paced: { warmUpSeconds: 1, seconds: 1 },
  memorySteps: 4,
  memoryStepPlants: 3000,
  fullStorePlants: 100_000,
  starts: 3,
};

/** Requests under way: so many connections, with so many on each. */
export interface Concurrency {
  readonly connections: number;
  readonly streams: number;
}

/** From one caller alone to more than commits can take in one turn. */
export const latencyConcurrency: readonly {
  readonly atATime: number;
  readonly http1: Concurrency;
  readonly grpc: Concurrency;
}[] = [1, 4, 16, 64, 256].map((atATime) => ({
  atATime,
  http1: { connections: atATime, streams: 1 },
  grpc: { connections: Math.min(4, atATime), streams: Math.ceil(atATime / 4) },
}));

/** Enough that each server is busy all the time, and commits of the store are shared. */
export const concurrency = {
  http1: { connections: 128, streams: 1 },
  grpc: { connections: 4, streams: 32 },
} as const;

/** What the engines of the store are compared with: enough connections for every thread and server. */
export const storeConcurrency = { connections: 8, streams: 32 } as const;

/** As many as may be needed when requests fall due faster than answers come. */
export const pacedConcurrency = {
  http1: { connections: 128, streams: 1 },
  grpc: { connections: 4, streams: 100 },
} as const;

/** The share of its own highest rate at which a server's latency is told. */
export const pacedShare = 0.8;
