import { isIP } from "node:net";
import type { Setting, ValuesOf } from "./setting.ts";

/** A longer timer fires at once. No size or count here comes near it. */
export const timerMaxMs = 2 ** 31 - 1;

/** Half of what may wait for a commit: a larger plant could never be stored. */
const bodyBytesCeiling = 32 * 1024 * 1024;

const limit = { type: "integer", placeholder: "number", min: 1, max: timerMaxMs } as const;

/** A limit for everything that a client could make grow, each with its reason. */
export const limitSettings = {
  /** Plants are small. */
  bodyBytesMax: {
    ...limit,
    default: 1024 * 1024,
    max: bodyBytesCeiling,
    unit: "bytes",
    summary: "Largest request body, compressed or not",
  },
  /** With the rest of the server, it fits into a container of 512 MiB. */
  bodyBudgetBytes: {
    ...limit,
    default: 64 * 1024 * 1024,
    unit: "bytes",
    summary: "Bodies in memory, of all requests together",
  },
  /** Enough for any token. */
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
  /** More than the usual 60 s of load balancers. */
  idleTimeoutMs: {
    ...limit,
    default: 75_000,
    unit: "ms",
    summary: "How long a connection may be idle",
  },
  /** An idle connection takes a few KiB. */
  connectionsMax: { ...limit, default: 10_000, summary: "Open connections" },
  /** Off by default, because behind a proxy all clients have one address. */
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
    // Closing a connection costs the square of its streams: 63 ms for 10,000.
    max: 4096,
    default: 256,
    summary: "Concurrent requests on one HTTP/2 connection",
  },
} as const satisfies Record<string, Setting>;

/**
 * JSON values or protobuf fields in one message; a plant has three. A body of 1 MiB could hold half
 * a million, which would block the event loop for 200 ms.
 */
export const messageValuesMax = 1000;

export type Limits = ValuesOf<typeof limitSettings>;

export const defaultLimits = Object.fromEntries(
  Object.entries(limitSettings).map(([option, setting]) => [option, setting.default]),
) as unknown as Limits;

/** Checks as the gateway does, but without loading it. */
function findAddressProblem(addresses: readonly string[]): string | undefined {
  const wrong = addresses.find((text) => !isAddressBlock(text));
  if (wrong === undefined) return undefined;
  return `must be addresses like 10.0.0.1, or blocks like 10.0.0.0/8: ${wrong}`;
}

function isAddressBlock(text: string): boolean {
  const [, address = "", prefix = "0"] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  return isIP(address) !== 0 && Number(prefix) <= (isIP(address) === 4 ? 32 : 128);
}
