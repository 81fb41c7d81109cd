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

/** The headers of every answer of the method: RFC 9745 and RFC 8594. */
export function deprecationHeader(method: DescMethod, deprecations: Deprecations): NodeHeaders {
  const { since, sunset } = deprecations[selectorOf(method)] ?? {};
  if (since === undefined) return {};
  const deprecated = { deprecation: `@${Math.floor(Date.parse(since) / 1000)}` };
  return sunset === undefined
    ? deprecated
    : { ...deprecated, sunset: new Date(sunset).toUTCString() };
}

/** What is wrong with the times; undefined if nothing is. */
export function deprecationProblem({ since, sunset = since }: Deprecation): string | undefined {
  const wrong = [since, sunset].find((time) => Number.isNaN(Date.parse(time)));
  if (wrong !== undefined) return `${JSON.stringify(wrong)} is no date`;
  // RFC 9745 section 4.
  return Date.parse(sunset) < Date.parse(since) ? "sunset must not be before since" : undefined;
}
