/** Limits of the engine, in milliseconds unless the name says otherwise. */
export interface PostgresLimits {
  /** For each host, from the first byte of a connection to a usable session. */
  readonly connectTimeoutMs: number;
  /** How long a host may take before the next one is tried as well. */
  readonly nextHostDelayMs: number;
  /** How often a host is asked whether it is there during a statement, and its time to answer. */
  readonly aliveIntervalMs: number;
  /** When a statement that stores plants is cancelled. Most likely it waits for a lock. */
  readonly statementTimeoutMs: number;
  /** How long after a cancel the connection is closed: the server or network does not answer. */
  readonly cancelGraceMs: number;
  /** How long a plant is retried. During an outage, the time counts from its start. */
  readonly retryLimitMs: number;
  /** The pauses between tries double from the minimum to the maximum. */
  readonly backoffMinMs: number;
  readonly backoffMaxMs: number;
  /** A connection is inspected before a write if its last inspection is older than this. */
  readonly inspectIntervalMs: number;
  /** Except the last connection. */
  readonly idleTimeoutMs: number;
  readonly keepAliveDelayMs: number;
  readonly migrationTimeoutMs: number;
  /** The timeout of reading a page of plants, or of counting them. */
  readonly readTimeoutMs: number;
}

export const defaultPostgresLimits: PostgresLimits = {
  connectTimeoutMs: 3000,
  nextHostDelayMs: 500,
  // With the delay, a host that hangs costs less than three seconds.
  aliveIntervalMs: 1000,
  statementTimeoutMs: 4000,
  cancelGraceMs: 1000,
  // A failover takes seconds; after ten, most callers have given up.
  retryLimitMs: 10_000,
  backoffMinMs: 20,
  backoffMaxMs: 1000,
  // The same interval as for an idle store. What is acknowledged in this time may be lost.
  inspectIntervalMs: 2000,
  idleTimeoutMs: 5 * 60_000,
  keepAliveDelayMs: 30_000,
  migrationTimeoutMs: 60_000,
  // Counting a billion rows takes minutes.
  readTimeoutMs: 10 * 60_000,
};

/** Connections of one process. Few: statements are large, and servers are shared. */
export const defaultConnectionsMax = 4;

/** The maximum of `pool_max_conns`: a server's default limit. */
export const connectionsCeiling = 100;

/** Server settings that must be on. Without them, a crash loses plants. */
export const safetySettings = ["fsync", "full_page_writes"] as const;
