/** What bounds the connections of a port, and what arrives on them. */
export interface PortLimits {
  /** The headers of one request, in bytes. */
  readonly headerBytesMax: number;
  /** How long a client may take to send a request, in ms. */
  readonly requestTimeoutMs: number;
  /** How long a connection may rest, in ms. */
  readonly idleTimeoutMs: number;
  /** Open connections. */
  readonly connectionsMax: number;
  /** Requests under way on one connection of HTTP/2. */
  readonly streamsMax: number;
}
