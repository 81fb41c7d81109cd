import { create, type DescMethod, type MessageInitShape } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { definedOnly } from "../call/defined-only.ts";
import { assertOptions, type OptionKinds } from "../call/option-kinds.ts";
import { type RenderError, renderStatus } from "./error.ts";
import type { AnswerCodingName } from "./response/answer-coding.ts";
import type { SuccessStatuses } from "./response/success-status.ts";
import { RuleError } from "./rule/rule.ts";
import type { StreamFormatName } from "./stream/stream-format.ts";

/** Those options of REST that a service may have of its own. */
export interface RestServiceOptions {
  /**
   * Renders an error for a client: status, JSON body, media type. Also what ends a stream, without
   * the media type, which is that of the stream. `renderProblem` is that of RFC 9457. Default:
   * `google.rpc.Status` in JSON.
   */
  readonly renderError?: RenderError;
  /** Whether JSON members that no field has are passed over. Default: they are refused. */
  readonly ignoreUnknownFields?: boolean;
  /**
   * How answers write 64-bit integers: as `string`, as ProtoJSON says, or as
   * `number`, which most readers round past 2^53. Default `string`.
   */
  readonly int64?: "string" | "number";
  /** The form of a stream for a client whose Accept does not choose one. Default `ndjson`. */
  readonly streamFormat?: StreamFormatName;
  /**
   * Names of query parameters that are passed over where no field has them, `["utm_*", "fbclid"]`,
   * as what campaigns and analytics append to links; `*` stands for any text. A parameter that a
   * field has is read as ever, and an error in it is one. Default: none, others get a 400. An empty
   * pattern stops the start with a TypeError.
   */
  readonly ignoreQueryParameters?: readonly string[];
  /**
   * Whether a PATCH that sends no `update_mask` gets one that names what its body says, as from
   * grpc-gateway: where the rule's body is a field, a message, and the request has a
   * `google.protobuf.FieldMask update_mask`. AIP-134 has it so: an omitted mask stands for all
   * fields that are there, and only who reads the JSON can tell those that are there and zero.
   * Such a PATCH also takes `application/merge-patch+json`, RFC 7396. Default: true.
   */
  readonly fillUpdateMask?: boolean;
  /**
   * Whether the answer to a GET or HEAD of a unary method has an ETag, a weak one of its body, and
   * is a 304 without body to a client whose If-None-Match names it. An ETag that the implementation
   * sets goes before, and is answered the same way. The implementation runs each time, and each
   * answer is hashed: about 8 µs for 8 KB. Default: false.
   */
  readonly etag?: boolean;
  /**
   * The codings in which answers may be compressed, the preferred first, for clients that accept
   * several alike. Streams are not compressed, nor are answers below `compressMinBytes`. Default:
   * `["zstd", "br", "gzip"]`, zstd only where Node has it (22.15), then what else
   * `acceptCompression` has; none if that is empty. A coding that Node does not have stops the start
   * with a TypeError.
   */
  readonly answerCodings?: readonly AnswerCodingName[];
}

/** What REST adds to the options of a Connect router. */
export interface RestOptions extends RestServiceOptions {
  /**
   * Rules for methods that their proto does not annotate, as in a service
   * config: `HttpRule`s or plain objects, each with the full name of its method
   * as `selector`. They replace the method's annotation.
   */
  readonly rules?: readonly MessageInitShape<typeof HttpRuleSchema>[];
  /**
   * The status of success of methods, by their full names, `{ "pkg.v1.Service.Method": 201 }`:
   * 2xx, but for 206 and 226. An answer of 204 or 205 has no body. Default: 200. A name that REST
   * does not serve, or another status, stops the start with a TypeError.
   */
  readonly statuses?: SuccessStatuses;
  /**
   * Options by service, `{ "pkg.v1.Service": { int64: "number" } }`: they replace those of all, one
   * by one, for its methods. Default: none. A service that is not served stops the start with a
   * TypeError.
   */
  readonly services?: Readonly<Record<string, RestServiceOptions>>;
}

/** All options of one service. */
export type RestServiceSettings = Required<Omit<RestServiceOptions, "answerCodings">> &
  Pick<RestServiceOptions, "answerCodings">;

export interface RestSettings extends RestServiceSettings {
  readonly rules: readonly HttpRule[];
  readonly statuses: SuccessStatuses;
  readonly services: ReadonlyMap<string, RestServiceSettings>;
}

const serviceKinds: OptionKinds = {
  renderError: "function",
  ignoreUnknownFields: "boolean",
  int64: "string",
  streamFormat: "string",
  ignoreQueryParameters: "list",
  fillUpdateMask: "boolean",
  etag: "boolean",
  answerCodings: "list",
};

const kinds: OptionKinds = {
  ...serviceKinds,
  rules: "list",
  statuses: "object",
  services: "object",
};

/** What options of few values may be; TypeScript alone says so of them. */
const choices = { int64: ["string", "number"], streamFormat: ["ndjson", "sse", "array"] } as const;

function assertRestOptions(where: string, options: object, known: OptionKinds): void {
  assertOptions(where, options, known);
  for (const [name, values] of Object.entries(choices)) {
    const value = (options as Record<string, string | undefined>)[name];
    if (value === undefined || (values as readonly string[]).includes(value)) continue;
    throw new TypeError(`${where}.${name} must be one of ${values.join(", ")}: ${value}`);
  }
}

/** @throws {TypeError} for an option that there is not, or of another kind. */
export function resolveRestOptions(options: RestOptions): RestSettings {
  assertRestOptions("rest", options, kinds);
  for (const [service, own] of Object.entries(options.services ?? {})) {
    assertRestOptions(`rest.services["${service}"]`, own, serviceKinds);
  }
  const { rules = [], statuses = {}, services = {}, ...given } = options;
  const common = resolve(given, {
    renderError: renderStatus,
    ignoreUnknownFields: false,
    int64: "string",
    streamFormat: "ndjson",
    ignoreQueryParameters: [],
    fillUpdateMask: true,
    etag: false,
  });
  return {
    ...common,
    rules: rules.map(createRule),
    statuses,
    services: new Map(
      Object.entries(services).map(([service, own]) => [service, resolve(own, common)]),
    ),
  };
}

/**
 * Asserts that options by service are for services of the methods.
 *
 * @throws {TypeError}
 */
export function assertServices(
  services: RestSettings["services"],
  methods: readonly DescMethod[],
): void {
  const served = new Set(methods.map(({ parent }) => parent.typeName));
  for (const service of services.keys()) {
    if (!served.has(service)) throw new TypeError(`rest.services["${service}"] is not served`);
  }
}

function resolve(own: RestServiceOptions, common: RestServiceSettings): RestServiceSettings {
  return { ...common, ...definedOnly(own) };
}

/** @throws {RuleError} for a member that a rule does not have: `create` would leave it out. */
function createRule(rule: MessageInitShape<typeof HttpRuleSchema>): HttpRule {
  const members = HttpRuleSchema.members.map(({ localName }) => localName);
  const known = new Set(["$typeName", "$unknown", ...members]);
  const strange = Object.keys(rule).find((name) => !known.has(name));
  if (strange === undefined) return create(HttpRuleSchema, rule);
  const isVerb = HttpRuleSchema.fields.some(({ localName }) => localName === strange);
  const advice = isVerb ? `; write pattern: { case: "${strange}", value: "…" }` : "";
  const reason = `"${strange}" is no member of a rule${advice}`;
  throw new RuleError(rule.selector || "a rule without a selector", reason);
}
