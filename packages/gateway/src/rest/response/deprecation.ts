import type { DescMethod } from "@bufbuild/protobuf";
import type { NodeHeaders } from "../../http/headers.ts";
import { selectorOf } from "../rule/rule.ts";

/** When a method is deprecated, and when it stops working. */
export interface Deprecation {
  /** A date, or a time as in RFC 3339: `2026-01-31`, in UTC. It may be in the future. */
  readonly since: string;
  /** The same. Not before `since`. */
  readonly sunset?: string;
}

export type Deprecations = Readonly<Record<string, Deprecation>>;

/** Whether a method is deprecated, by its option. */
export function isDeprecated(method: DescMethod, deprecations: Deprecations): boolean {
  return Object.hasOwn(deprecations, selectorOf(method));
}

/** The headers of every answer of the method: RFC 9745 and RFC 8594. */
export function deprecationHeader(method: DescMethod, deprecations: Deprecations): NodeHeaders {
  const deprecation = deprecations[selectorOf(method)];
  if (deprecation === undefined || !isDeprecated(method, deprecations)) return {};
  const { since, sunset } = deprecation;
  const deprecated = { deprecation: `@${Math.floor(Date.parse(since) / 1000)}` };
  return sunset === undefined
    ? deprecated
    : { ...deprecated, sunset: new Date(sunset).toUTCString() };
}

/**
 * Asserts that each entry has times, and is of a method that REST serves.
 *
 * @throws {TypeError}
 */
export function assertDeprecations(
  deprecations: Deprecations,
  methods: readonly DescMethod[],
): void {
  const served = new Set(methods.map(selectorOf));
  for (const [selector, { since, sunset = since }] of Object.entries(deprecations)) {
    const fail = (reason: string): never => {
      throw new TypeError(`rest.deprecations["${selector}"]: ${reason}`);
    };
    if (!served.has(selector)) fail("REST serves no method of that name");
    for (const time of [since, sunset]) {
      if (Number.isNaN(Date.parse(time))) fail(`${JSON.stringify(time)} is no date`);
    }
    // RFC 9745 section 4.
    if (Date.parse(sunset) < Date.parse(since)) fail("sunset must not be before since");
  }
}
