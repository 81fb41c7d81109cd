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
    if (!Number.isInteger(status) || status < 200 || status > 299 || partial.has(status)) {
      fail(selector, `${status} is no status of success for a whole answer`);
    }
    const isStream = method.methodKind === "server_streaming";
    if (isStream && isBodiless(status)) {
      fail(selector, `${status} has no body, and the method answers a stream`);
    }
  }
}

/** 206 and 226 mean that the body is part of the answer, or a change to an earlier one. */
const partial = new Set([206, 226]);

function fail(selector: string, reason: string): never {
  throw new TypeError(`rest.statuses["${selector}"]: ${reason}`);
}
