/** Limits of a port. Loads little, for programs that check settings before they start. */
import { BlockList, isIP } from "node:net";
import { assertOptions, definedOnly, optionKinds, timerMaxMs } from "../rpc/options.ts";

/** Limits on the connections of a port, and on what they send. */
export interface PortLimits {
  /** The headers of one request, in bytes. Default: 16 KiB. */
  readonly headerBytesMax: number;
  /**
   * How long a client may take to send the headers of a request, in ms. In each such time, at least
   * 240 bytes/s of a body must arrive. Default: 10 s.
   */
  readonly requestTimeoutMs: number;
  /** How long a connection may be idle, in ms. Default: 75 s, more than the usual 60 of load balancers. */
  readonly idleTimeoutMs: number;
  /** Open connections. Default: 10,000; each takes a few KiB while idle. */
  readonly connectionsMax: number;
  /** Open connections from one address, or from one /64 of IPv6. Default: no limit of its own. */
  readonly connectionsPerAddressMax?: number;
  /** Addresses and blocks (`10.0.0.0/8`) without that limit, such as proxies. Default: none. */
  readonly connectionsExempt?: readonly string[];
  /** Concurrent requests on one HTTP/2 connection. Default: 256. */
  readonly streamsMax: number;
}

export const defaultLimits: PortLimits = {
  headerBytesMax: 16 * 1024,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 75_000,
  connectionsMax: 10_000,
  streamsMax: 256,
};

const kinds = optionKinds<PortLimits>()({
  "whole number from 1 to 2^31 - 1":
    "headerBytesMax requestTimeoutMs idleTimeoutMs connectionsMax connectionsPerAddressMax streamsMax",
  "list of strings": "connectionsExempt",
});

export { timerMaxMs };

/** Fills in the defaults. @throws {TypeError} for an unknown limit, or one out of range. */
export function resolveLimits(given: Partial<PortLimits>): PortLimits {
  assertOptions("limits", given, kinds);
  return { ...defaultLimits, ...definedOnly(given) };
}

/** `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`. @throws {TypeError} for any other text. */
export function parseAddressBlocks(texts: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const text of texts) {
    const [, address = "", prefix] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    if (version === 0 || Number(prefix ?? 0) > bits) {
      throw new TypeError(`must be addresses like 10.0.0.1, or blocks like 10.0.0.0/8: ${text}`);
    }
    blocks.addSubnet(address, prefix === undefined ? bits : Number(prefix), familyOf(address));
  }
  return blocks;
}

export function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}
