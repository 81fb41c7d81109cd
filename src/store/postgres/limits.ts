/** What bounds the engine, in milliseconds unless the name says otherwise. */
export interface PostgresLimits {
  /** From the first byte of a connection to a session that is ready, for each host. */
  readonly connectTimeoutMs: number;
  /** After this a statement that stores plants is cancelled: most likely it waits for a lock. */
  readonly statementTimeoutMs: number;
  /** How long after that the connection is given up: the server or the network does not answer. */
  readonly cancelGraceMs: number;
  /** How long a batch is tried again; from the begin of an outage, if there is one. */
  readonly retryLimitMs: number;
  /** Plants of several batches that share a statement for a node of a cluster. */
  readonly rowsMax: number;
  /** How much of the heap these may hold. */
  readonly bytesMax: number;
  /** How much of the heap plants may hold that wait for nodes that fail. */
  readonly stragglerBytesMax: number;
  /** The pauses between tries double from the first to the second. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A connection whose last inspection was longer ago is inspected before it writes. */
  readonly inspectIntervalMs: number;
  /** After this a connection that rests is closed, but for the last. */
  readonly idleTimeoutMs: number;
  /** How long a connection may be silent before TCP asks whether the server is there. */
  readonly keepAliveDelayMs: number;
  /** How long a migration may take, and how long to wait for another process's. */
  readonly migrationTimeoutMs: number;
  /** How long reading a page of plants may take, or counting them. */
  readonly readTimeoutMs: number;
}

export const defaultPostgresLimits: PostgresLimits = {
  connectTimeoutMs: 3000,
  statementTimeoutMs: 4000,
  cancelGraceMs: 1000,
  // A fail-over takes seconds; most callers have given up after ten.
  retryLimitMs: 10_000,
  // As much as a batch has.
  rowsMax: 512,
  bytesMax: 4 * 1024 * 1024,
  // Of small plants, what a cluster is asked for in some seconds.
  stragglerBytesMax: 16 * 1024 * 1024,
  backoffMinMs: 20,
  backoffMaxMs: 1000,
  // As often as one that rests is inspected: what is acknowledged in this time may be lost.
  inspectIntervalMs: 2000,
  idleTimeoutMs: 5 * 60_000,
  keepAliveDelayMs: 30_000,
  migrationTimeoutMs: 60_000,
  // To count a billion rows takes minutes.
  readTimeoutMs: 10 * 60_000,
};

/** Connections of one process, by default: few, for statements are large and servers are shared. */
export const defaultConnectionsMax = 4;

/** The largest `pool_max_conns`: as many as a server takes by default. */
export const connectionsCeiling = 100;
