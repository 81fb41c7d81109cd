import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { isBodiless, type RenderError, renderStatus } from "../errors/http.ts";
import { assertOptions, definedOnly, optionKinds } from "../rpc/options.ts";
import { ofRule, RuleError, ruleOf, selectorOf } from "./rule/rule.ts";
import type { StreamFormatName } from "./stream/stream-format.ts";

/** The REST options, in addition to those of a Connect router. */
export interface RestOptions {
  /**
   * Renders an error for a client: status, JSON body, media type. A stream keeps its own media type.
   * `renderProblem` renders RFC 9457. Default: `google.rpc.Status` in JSON.
   */
  readonly renderError?: RenderError;
  /** Whether to ignore unknown JSON members. Default: reject them. */
  readonly ignoreUnknownFields?: boolean;
  /**
   * How answers write 64-bit integers: as `string`, like ProtoJSON, or as `number`, which most
   * readers round past 2^53. Default `string`.
   */
  readonly int64?: "string" | "number";
  /** The format of a stream if the client's Accept header does not choose one. Default `ndjson`. */
  readonly streamFormat?: StreamFormatName;
  /**
   * The field of a stream's messages whose value is the `id` of their server-sent events, by its
   * name in the proto. Default: none; events have no id.
   */
  readonly eventIdField?: string;
  /**
   * Unknown query parameters to ignore, for example `["utm_*", "fbclid"]`. A `*` may stand for the
   * end. Those that name a field are always read. Default: none; an unknown parameter gets a 400.
   * Another pattern throws a TypeError at startup.
   */
  readonly ignoreQueryParameters?: readonly string[];
  /**
   * Whether a PATCH without `update_mask` gets one with the fields in its body, as in grpc-gateway
   * and AIP-134. Applies if the rule's body is a field of message type and the request has a
   * `google.protobuf.FieldMask update_mask`. Such a PATCH also accepts
   * `application/merge-patch+json`, RFC 7396. Default: true.
   */
  readonly fillUpdateMask?: boolean;
  /**
   * Whether GET and HEAD of a unary method return a weak ETag of the body, and a 304 without body
   * if the client's If-None-Match contains it. An ETag of the implementation takes precedence. The
   * implementation runs each time, and each answer is hashed: 8 µs for 8 KB. Default: false.
   */
  readonly etag?: boolean;
  /**
   * Rules for methods that their proto does not annotate, as in a service config: `HttpRule`s or
   * plain objects, each with the full name of its method as `selector`. They replace the method's
   * annotation.
   */
  readonly rules?: readonly MessageInitShape<typeof HttpRuleSchema>[];
  /**
   * Told of a rule that cannot be served, which is then left out: for a gateway whose protos others
   * write. It may be reported twice. Default: the error is thrown at startup.
   */
  readonly onRuleError?: (error: RuleError) => void;
  /**
   * The success status by full method name, `{ "pkg.v1.Service.Method": 201 }`: 2xx except 206 and
   * 226, or a redirect. An answer with 204 or 205 has no body. Default: 200. A method that REST does
   * not serve, or another status, throws a TypeError at startup. The response header `x-http-code`
   * takes precedence for one answer.
   */
  readonly statuses?: Readonly<Record<string, number>>;
}

export interface RestSettings extends Required<Omit<RestOptions, "rules" | "onRuleError">> {
  readonly rules: readonly HttpRule[];
  readonly onRuleError: ((error: RuleError) => void) | undefined;
}

export const restKinds = optionKinds<RestOptions>()({
  function: "renderError onRuleError",
  boolean: "ignoreUnknownFields fillUpdateMask etag",
  string: "eventIdField",
  "list of strings": "ignoreQueryParameters",
  "list of objects": "rules",
  object: "statuses",
  "one of string, number": "int64",
  "one of ndjson, sse, array": "streamFormat",
});

/** @throws {TypeError} for an option that there is not, or of another kind. */
export function resolveRestOptions(options: RestOptions): RestSettings {
  assertOptions("rest", options, restKinds);
  const { rules = [], onRuleError, ...given } = options;
  return {
    renderError: renderStatus,
    ignoreUnknownFields: false,
    int64: "string",
    streamFormat: "ndjson",
    eventIdField: "",
    ignoreQueryParameters: [],
    fillUpdateMask: true,
    etag: false,
    statuses: {},
    ...definedOnly(given),
    rules: rules.map(createRule),
    onRuleError,
  };
}

/**
 * Asserts that REST serves what options name. @param methods All that are served, by any protocol.
 * @throws {RuleError} for a rule; {TypeError} for another option.
 */
export function assertServed(settings: RestSettings, methods: readonly DescMethod[]): void {
  const bySelector = new Map(methods.map((method) => [selectorOf(method), method]));
  for (const { selector } of settings.rules) {
    if (bySelector.has(selector)) continue;
    ofRule(settings, () => {
      const name = selector || "a rule without a selector";
      throw new RuleError(name, "no method that is served has it");
    });
  }
  for (const [selector, status] of Object.entries(settings.statuses)) {
    const method = bySelector.get(selector);
    const isRuled = method !== undefined && ruleOf(method, settings) !== undefined;
    const problem = isRuled ? statusProblem(status, method) : "REST serves no method of that name";
    if (problem !== undefined) throw new TypeError(`rest.statuses["${selector}"]: ${problem}`);
  }
}

/** @throws {RuleError} for a member that a rule does not have. `create` would ignore it. */
export function createRule(rule: MessageInitShape<typeof HttpRuleSchema>): HttpRule {
  const members = HttpRuleSchema.members.map(({ localName }) => localName);
  const known = new Set(["$typeName", "$unknown", ...members]);
  const strange = Object.keys(rule).find((name) => !known.has(name));
  if (strange === undefined) return create(HttpRuleSchema, rule);
  const isVerb = HttpRuleSchema.fields.some(({ localName }) => localName === strange);
  const advice = isVerb ? `; write pattern: { case: "${strange}", value: "…" }` : "";
  const reason = `"${strange}" is no member of a rule${advice}`;
  throw new RuleError(rule.selector || "a rule without a selector", reason);
}

/** Why a status is not a success status of the method; undefined if it is one. */
function statusProblem(status: number, { methodKind }: DescMethod): string | undefined {
  if (!isSuccess(status)) return `${status} is no status of success for a whole answer`;
  const isEmpty = methodKind === "server_streaming" && isBodiless(status);
  return isEmpty ? `${status} has no body, and the method answers a stream` : undefined;
}

/** The headers without which a status means nothing: RFC 9110 sections 15.3.7 and 15.4. */
export const neededHeaders: ReadonlyMap<number, string> = new Map([
  [206, "content-range"],
  ...[301, 302, 303, 307, 308].map((status) => [status, "location"] as const),
]);

/** 206 and 226 mean that the body is part of the answer, or a change to an earlier one. */
export function isSuccess(status: number): boolean {
  const isWhole = status >= 200 && status <= 299 && status !== 206 && status !== 226;
  return Number.isInteger(status) && (isWhole || (status !== 206 && neededHeaders.has(status)));
}
