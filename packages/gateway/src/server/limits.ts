/** Limits of a port. Loads little, for programs that check settings before they start. */
import { assertOptions, definedOnly } from "../rpc/options.ts";

export { parseAddressBlocks } from "./address-blocks.ts";

/** What bounds the connections of a port, and what arrives on them. */
export interface PortLimits {
  /** The headers of one request, in bytes. Default: 16 KiB. */
  readonly headerBytesMax: number;
  /** How long a client may take to send a request, in ms. Default: 10 s. */
  readonly requestTimeoutMs: number;
  /** How long a connection may rest, in ms. Default: 75 s, past a load balancer's usual 60. */
  readonly idleTimeoutMs: number;
  /** Open connections. Default: 10,000, a few KiB each while they rest. */
  readonly connectionsMax: number;
  /** Open connections from one address, or from one /64 of IPv6. Default: no limit of its own. */
  readonly connectionsPerAddressMax?: number;
  /**
   * Addresses, and blocks of them (`10.0.0.0/8`), for which that limit does not hold: of proxies,
   * which bring the connections of many clients. Default: none. Throws a TypeError for any other text.
   */
  readonly connectionsExempt?: readonly string[];
  /** Requests under way on one connection of HTTP/2. Default: 256. */
  readonly streamsMax: number;
}

export const defaultLimits: PortLimits = {
  headerBytesMax: 16 * 1024,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 75_000,
  connectionsMax: 10_000,
  streamsMax: 256,
};

/** A timer over this fires at once. */
export const timerMaxMs = 2 ** 31 - 1;

/**
 * The limits with their defaults.
 *
 * @throws {TypeError} for one that there is not.
 * @throws {RangeError} for one that is not a whole number from 1 to {@link timerMaxMs}.
 */
export function resolveLimits(given: Partial<PortLimits>): PortLimits {
  assertOptions("limits", given, {
    headerBytesMax: "number",
    requestTimeoutMs: "number",
    idleTimeoutMs: "number",
    connectionsMax: "number",
    connectionsPerAddressMax: "number",
    connectionsExempt: "list",
    streamsMax: "number",
  });
  const limits: PortLimits = { ...defaultLimits, ...definedOnly(given) };
  const { connectionsExempt: _, ...numbers } = limits;
  for (const [name, value] of Object.entries(numbers)) {
    if (Number.isInteger(value) && value >= 1 && value <= timerMaxMs) continue;
    throw new RangeError(`limits.${name} must be a whole number from 1 to ${timerMaxMs}: ${value}`);
  }
  return limits;
}
