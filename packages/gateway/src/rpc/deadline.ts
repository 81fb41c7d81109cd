import type { RequestHeaders } from "../http/headers.ts";

/**
 * The longest deadline that is kept, about 24.8 days: a timer over 2^31 - 1 ms
 * fires at once. A caller that asks for more waits as good as for ever.
 */
const deadlineMaxMs = 2 ** 31 - 1;

const unitMs = new Map([
  ["H", 3_600_000],
  ["M", 60_000],
  ["S", 1000],
  ["m", 1],
]);

/** Brings a deadline that no timer can hold down to the longest that one can. */
export function clampDeadline(headers: RequestHeaders): void {
  const own = headers as Record<string, string | string[] | undefined>;
  const connect = headers["connect-timeout-ms"];
  if (typeof connect === "string" && /^\d{10}$/.test(connect) && Number(connect) > deadlineMaxMs) {
    own["connect-timeout-ms"] = String(deadlineMaxMs);
  }
  const grpc = headers["grpc-timeout"];
  const match = typeof grpc === "string" ? /^(\d{1,8})([HMSm])$/.exec(grpc) : null;
  const timeoutMs = Number(match?.[1] ?? 0) * (unitMs.get(match?.[2] ?? "") ?? 0);
  if (timeoutMs > deadlineMaxMs) own["grpc-timeout"] = `${Math.floor(deadlineMaxMs / 1000)}S`;
}
