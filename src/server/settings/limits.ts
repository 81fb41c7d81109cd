import { isIP } from "node:net";
import type { Setting, ValuesOf } from "./setting.ts";

/** A timer over this fires at once; no size or count of ours comes near it. */
export const timerMaxMs = 2 ** 31 - 1;

/** Half of what may wait for a commit: a larger plant could never be taken. */
const bodyBytesCeiling = 32 * 1024 * 1024;

const limit = { type: "integer", placeholder: "number", min: 1, max: timerMaxMs } as const;

/** Everything that a stranger could make grow has a number here, with its reason. */
export const limitSettings = {
  /** A plant is small. */
  bodyBytesMax: {
    ...limit,
    default: 1024 * 1024,
    max: bodyBytesCeiling,
    unit: "bytes",
    summary: "Largest request body, compressed or not",
  },
  /** Room for any token. */
  headerBytesMax: {
    ...limit,
    default: 16 * 1024,
    unit: "bytes",
    summary: "Largest request headers",
  },
  requestTimeoutMs: {
    ...limit,
    default: 10_000,
    unit: "ms",
    summary: "How long a client may take to send a request",
  },
  /** Past a load balancer's usual 60 s. */
  idleTimeoutMs: {
    ...limit,
    default: 75_000,
    unit: "ms",
    summary: "How long a connection may be idle",
  },
  /** A few KiB each while they rest. */
  connectionsMax: { ...limit, default: 10_000, summary: "Open connections" },
  /** Behind a proxy all clients have one address: so no limit unless it is asked for. */
  connectionsPerAddressMax: {
    ...limit,
    min: 0,
    default: 0,
    summary: "Open connections from one address; 0: no limit",
  },
  connectionsExempt: {
    type: "list",
    default: [],
    placeholder: "list",
    summary: "Addresses exempt from that limit, such as proxies: `10.0.0.1,fd00::/8`",
    check: findAddressProblem,
  },
  streamsMax: {
    ...limit,
    // The end of a connection costs the square of them: 63 ms of 10,000.
    max: 4096,
    default: 256,
    summary: "Concurrent requests on one HTTP/2 connection",
  },
} as const satisfies Record<string, Setting>;

/**
 * Values in one message; a plant has three. A body of 1 MiB could hold half a million, and
 * take the event loop for 200 ms.
 */
export const messageValuesMax = 1000;

export type Limits = ValuesOf<typeof limitSettings>;

export const defaultLimits = Object.fromEntries(
  Object.entries(limitSettings).map(([option, setting]) => [option, setting.default]),
) as unknown as Limits;

/** As the gateway reads them, which a start does not load for its settings. */
function findAddressProblem(addresses: readonly string[]): string | undefined {
  const wrong = addresses.find((text) => !isAddressBlock(text));
  if (wrong === undefined) return undefined;
  return `must be addresses like 10.0.0.1, or blocks like 10.0.0.0/8: ${wrong}`;
}

function isAddressBlock(text: string): boolean {
  const [, address = "", prefix = "0"] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}
