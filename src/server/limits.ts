/** Everything that a stranger could make grow has a number here, with its reason. */
export interface Limits {
  /** The largest request body in bytes, compressed or not. Default 1 MiB: a plant is small. */
  readonly bodyBytesMax: number;
  /** The largest block of request headers in bytes. Default 16 KiB: room for any token. */
  readonly headerBytesMax: number;
  /** How long a client may take to send a request, in ms. Default 10 s. */
  readonly requestTimeoutMs: number;
  /** How long a connection may rest, in ms. Default 75 s: past a load balancer's usual 60 s. */
  readonly idleTimeoutMs: number;
  /** Open connections. Default 10,000: a few KiB each while they rest. */
  readonly connectionsMax: number;
  /** Requests under way on one HTTP/2 connection. Default 256. */
  readonly streamsMax: number;
}

export const defaultLimits: Limits = {
  bodyBytesMax: 1024 * 1024,
  headerBytesMax: 16 * 1024,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 75_000,
  connectionsMax: 10_000,
  streamsMax: 256,
};
