/** Limits of the engine, in milliseconds unless the name says otherwise. */
export type PostgresLimits = Readonly<typeof defaultPostgresLimits>;

export const defaultPostgresLimits = {
  /** For each host, from the first byte of a connection to a usable session. */
  connectTimeoutMs: 3000,
  /** How long a host may take before the next one is tried as well. */
  nextHostDelayMs: 500,
  /**
   * How often a host is asked whether it is there during a statement, and its time to answer. With
   * the delay, a host that hangs costs less than three seconds.
   */
  aliveIntervalMs: 1000,
  /** When a statement that stores plants is cancelled. Most likely it waits for a lock. */
  statementTimeoutMs: 4000,
  /** How long after a cancel the connection is closed: the server or network does not answer. */
  cancelGraceMs: 1000,
  /**
   * How long a plant is retried. During an outage, the time counts from its start. A failover takes
   * seconds; after ten, most callers have given up.
   */
  retryLimitMs: 10_000,
  /** The pauses between tries double from the minimum to the maximum. */
  backoffMinMs: 20,
  backoffMaxMs: 1000,
  /**
   * A connection is inspected before a write if its last inspection is older than this, as an idle
   * store is. What is acknowledged in this time may be lost.
   */
  inspectIntervalMs: 2000,
  /** Except the last connection. */
  idleTimeoutMs: 5 * 60_000,
  keepAliveDelayMs: 30_000,
  migrationTimeoutMs: 60_000,
  /** Of reading a page of plants, or of counting them: a billion take minutes. */
  readTimeoutMs: 10 * 60_000,
};

/** Connections of one process. Few: statements are large, and servers are shared. */
export const defaultConnectionsMax = 4;

/** The maximum of `pool_max_conns`: a server's default limit. */
export const connectionsCeiling = 100;

/** Server settings that must be on. Without them, a crash loses plants. */
export const safetySettings = ["fsync", "full_page_writes"] as const;
