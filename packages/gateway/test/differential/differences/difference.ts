/** One listed difference, and helpers for entries. */
import { FieldService } from "../../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../../gen/library/v1/library_pb.ts";
import type { Case, Field } from "../case.ts";
import { answered } from "../difference-outcomes.ts";
import type { Outcome } from "../outcome.ts";
import { type CallSpec, createRequest } from "../request.ts";
import type { ErrorSpec, Script } from "../script.ts";
import type { Setup } from "../setup.ts";

export interface Difference {
  readonly name: string;
  /** What the stock adapter does, what ours does, and why. */
  readonly why: string;
  /** The requests that it applies to. */
  applies(given: Case): boolean;
  /**
   * The case in which the stock adapter behaves as ours does in this one. Default: the same case.
   */
  like?(given: Case): Case;
  /** Our outcome, given that of the stock adapter in the equivalent case. */
  expected(stock: Outcome, given: Case): Outcome;
  /** Cases that it changes. */
  readonly examples: readonly Case[];
}

export interface Rest {
  readonly setup?: Setup;
  readonly script?: Script;
  readonly change?: { readonly method?: string; readonly path?: string };
}

export function example(
  spec: CallSpec,
  { setup = {}, script = echo(), change = {} }: Rest = {},
): Case {
  const request = { ...createRequest({ message: { string: "a" }, ...spec }), ...change };
  const what = `${spec.protocol}, HTTP/${request.http}, ${request.method} ${request.path}`;
  return { what, setup, script, request };
}

export function failing(
  spec: CallSpec,
  error: Omit<Extract<ErrorSpec, { kind: "connect" }>, "kind" | "code"> & {
    readonly code?: number;
  },
) {
  const thrown = { kind: "connect", code: 3, ...error } as const;
  return example(spec, {
    script: { implementation: { ends: { do: "throw", error: thrown, async: true } } },
  });
}

/** The right answer to a request with which stock had nothing to do. */
export function echoed(stock: Outcome, { request }: Case): Outcome {
  return {
    ...answered(stock, request, { "content-type": "application/proto" }, 3),
    status: 200,
    body: [{ compressed: "no", data: "hex 720161" }],
    reported: [],
    seen: [{ at: "implementation" }],
  };
}

export function echo(): Script {
  return { implementation: { ends: { do: "echo" } } };
}

export function mentions(script: Script, text: RegExp): boolean {
  return JSON.stringify(script).search(text) >= 0;
}

export function valuesOf(headers: readonly Field[], name: string): string[] {
  return headers.filter(([key]) => key.toLowerCase() === name).map(([, value]) => value);
}

export function isEnveloped({ request }: Case): boolean {
  return /^application\/grpc/i.test(valuesOf(request.headers, "content-type")[0] ?? "");
}

/** The called method, and whether it is unary: connect-es serves streams. */
export function isUnary(given: Case): boolean {
  return kinds.get(pathOf(given)) === "unary";
}

/** Without the prefix; empty if the path does not begin with it. */
export function pathOf({ request, setup }: Case): string {
  const { requestPathPrefix: prefix = "" } = setup;
  const [path = ""] = request.path.split("?");
  return path.startsWith(prefix) ? path.slice(prefix.length) : "";
}

const kinds: ReadonlyMap<string, string> = new Map(
  [FieldService, LibraryService]
    .flatMap(({ methods }) => methods)
    .map(({ parent, name, methodKind }) => [`/${parent.typeName}/${name}`, methodKind]),
);

export function isRpcPath(given: Case): boolean {
  return kinds.has(pathOf(given));
}

/** The same value with each string changed, including names. */
export function mapStrings<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change)) as T;
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [change(name), mapStrings(item, change)]),
  ) as T;
}

/** The same value with one value replaced wherever it occurs. */
export function replaceIn<T>(value: T, found: unknown, other: unknown): T {
  if (JSON.stringify(value) === JSON.stringify(found)) return other as T;
  if (Array.isArray(value)) return value.map((item) => replaceIn(item, found, other)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, replaceIn(item, found, other)]),
  ) as T;
}

/** With another value for a field of the request. */
export function withRequestHeader(
  seen: Outcome["seen"],
  name: string,
  value: string,
): Outcome["seen"] {
  const change = (fields: unknown) =>
    (fields as readonly Field[]).map((field) => (field[0] === name ? [name, value] : field));
  return seen.map((one) => ({
    ...one,
    ...(Array.isArray(one["requestHeader"]) && { requestHeader: change(one["requestHeader"]) }),
    ...("requestMethod" in one &&
      Array.isArray(one["header"]) && { header: change(one["header"]) }),
  }));
}
