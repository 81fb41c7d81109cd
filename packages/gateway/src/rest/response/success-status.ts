import type { DescMethod } from "@bufbuild/protobuf";

/** Success statuses by method, `pkg.v1.Service.Method`. */
export type SuccessStatuses = Readonly<Record<string, number>>;

/** Whether an answer with this status has no body: RFC 9110 sections 15.3.5 and 15.3.6. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 205;
}

/** Why a status is none of success for the method; undefined if it is one. */
export function statusProblem(status: number, { methodKind }: DescMethod): string | undefined {
  if (!isSuccess(status)) return `${status} is no status of success for a whole answer`;
  const isEmpty = methodKind === "server_streaming" && isBodiless(status);
  return isEmpty ? `${status} has no body, and the method answers a stream` : undefined;
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
