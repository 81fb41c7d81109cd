import type { DescMethod } from "@bufbuild/protobuf";
import { selectorOf } from "../rule/rule.ts";

/** Success statuses by method, `pkg.v1.Service.Method`. */
export type SuccessStatuses = Readonly<Record<string, number>>;

/** The REST status of a successful call of the method. */
export function successStatusOf(method: DescMethod, statuses: SuccessStatuses): number {
  const selector = selectorOf(method);
  return Object.hasOwn(statuses, selector) ? (statuses[selector] ?? 200) : 200;
}

/** Whether an answer with this status has no body: RFC 9110 sections 15.3.5 and 15.3.6. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205;
}

/**
 * Asserts that each entry is a success status for a method that REST serves.
 *
 * @throws {TypeError}
 */
export function assertStatuses(statuses: SuccessStatuses, methods: readonly DescMethod[]): void {
  const bySelector = new Map(methods.map((method) => [selectorOf(method), method]));
  for (const [selector, status] of Object.entries(statuses)) {
    const method = bySelector.get(selector);
    if (method === undefined) fail(selector, "REST serves no method of that name");
    if (!isSuccess(status)) fail(selector, `${status} is no status of success for a whole answer`);
    const isStream = method.methodKind === "server_streaming";
    if (isStream && isBodiless(status)) {
      fail(selector, `${status} has no body, and the method answers a stream`);
    }
  }
}

/** By it an implementation, or a proxied server, sets the status of one answer. As in grpc-gateway. */
export const statusHeader = "x-http-code";

/** The headers without which a status means nothing: RFC 9110 sections 15.3.7 and 15.4. */
const neededHeaders: ReadonlyMap<number, string> = new Map([
  [206, "content-range"],
  ...[301, 302, 303, 307, 308].map((status) => [status, "location"] as const),
]);

/**
 * The status of one answer. Removes the header that says it.
 *
 * @param usual The status of an answer that says none.
 * @throws {Error} for a header that is no status of success.
 */
export function takeStatus(
  header: Headers,
  usual: number,
  { mayBeEmpty }: { readonly mayBeEmpty: boolean },
): number {
  const text = header.get(statusHeader);
  if (text === null) return usual;
  header.delete(statusHeader);
  const status = /^\d{3}$/.test(text) ? Number(text) : Number.NaN;
  const needed = neededHeaders.get(status);
  if (!(isSuccess(status) || status === 206) || (isBodiless(status) && !mayBeEmpty)) {
    throw new Error(`${statusHeader} ${text} is no status of success for this answer`);
  }
  if (needed !== undefined && !header.has(needed)) {
    throw new Error(`${statusHeader} ${text} needs the header ${needed}`);
  }
  return status;
}

/** 206 and 226 mean that the body is part of the answer, or a change to an earlier one. */
function isSuccess(status: number): boolean {
  const isWhole = status >= 200 && status <= 299 && status !== 206 && status !== 226;
  return Number.isInteger(status) && (isWhole || (status !== 206 && neededHeaders.has(status)));
}

function fail(selector: string, reason: string): never {
  throw new TypeError(`rest.statuses["${selector}"]: ${reason}`);
}
