import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { addressKey, peerAddressKey } from "connect-gateway";
import { RetryInfoSchema } from "connect-gateway/protos";
import { principalId, principalKey } from "../auth/verifier.ts";

/** Accepts a call, or throws, before any of its body is read. */
type Gate = (context: HandlerContext) => void | Promise<void>;

/**
 * Adds rate limits to a gate. The address is counted before the token is checked, which limits
 * guessing; the token once it is accepted, and for calls alone: clients of MCP send other requests.
 * Both throw a ConnectError `resource_exhausted` with `google.rpc.RetryInfo`.
 */
export function limitRates(
  gate: Gate,
  limits: Readonly<Record<"rateLimitPerToken" | "rateLimitPerAddress", number>>,
  now?: () => number,
) {
  const countAddress = countBy("address", limits.rateLimitPerAddress, now);
  const countToken = countBy("token", limits.rateLimitPerToken, now);
  const countedGate: Gate = (context) => {
    countAddress?.(context, addressKey(context.values.get(peerAddressKey) ?? ""));
    return gate(context);
  };
  const admit = (context: HandlerContext) => {
    const principal = context.values.get(principalKey);
    // Health and reflection need no token.
    if (principal !== undefined) countToken?.(context, principalId(principal));
  };
  return { requestGate: countAddress ? countedGate : gate, ...(countToken && { admit }) };
}

/**
 * draft-ietf-httpapi-ratelimit-headers-11, in rejections alone (6.2). It forbids them in trailers,
 * where gRPC-Web sends metadata. gRPC sends metadata as headers, if that is all: clients may retry.
 */
function countBy(
  policy: "address" | "token",
  perSecond: number,
  now: (() => number) | undefined,
): undefined | ((context: HandlerContext, key: string) => void) {
  if (perSecond === 0) return undefined;
  const buckets = createBuckets(perSecond, now);
  const headers = {
    "retry-after": "1", // the bucket is full again by then
    "ratelimit-policy": `"${policy}";q=${perSecond};w=1`,
    ratelimit: `"${policy}";r=0;t=1`,
  };
  const from = policy === "address" ? "from this address" : "with this token";
  const message = `too many requests ${from}: the limit is ${perSecond} per second; try again later`;

  return (context, key) => {
    const waitSeconds = buckets.take(key);
    if (waitSeconds === 0) return;
    const retryDelay = { nanos: Math.min(999_999_999, Math.ceil(waitSeconds * 1e9)) };
    const details = [{ desc: RetryInfoSchema, value: { retryDelay } }];
    const error = new ConnectError(message, Code.ResourceExhausted, undefined, details);
    const target = context.protocolName === "grpc" ? error.metadata : context.responseHeader;
    for (const [name, value] of Object.entries(headers)) target.set(name, value);
    throw error;
  };
}

/** Seconds. The clock and sums of fractions are inexact; no request waits for a microsecond. */
const slack = 1e-6;

/**
 * A token bucket for each key: the time at which it is full again (GCRA of ITU-T I.371). That is
 * within a second, so memory holds the keys of at most two seconds.
 * @param perSecond Requests for one key, and the size of a burst. @param now Monotonic seconds.
 */
export function createBuckets(perSecond: number, now = monotonicSeconds) {
  /** The keys that were counted since `sweptAt`, and those of the second before. */
  let recent = new Map<string, number>();
  let older = new Map<string, number>();
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    /** Takes one request from a key's bucket. @returns the seconds until one is allowed; 0 if it is. */
    take(key: string): number {
      const at = now();
      if (at - sweptAt >= 1) {
        older = recent;
        recent = new Map();
        sweptAt = at;
      }
      const full = recent.get(key) ?? older.get(key) ?? 0;
      const next = Math.max(full, at) + 1 / perSecond;
      const wait = next - (at + 1);
      if (wait > slack) return wait;
      recent.set(key, next);
      return 0;
    },
    get keys(): number {
      return recent.size + older.size;
    },
  };
}

function monotonicSeconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds + nanoseconds / 1e9;
}
