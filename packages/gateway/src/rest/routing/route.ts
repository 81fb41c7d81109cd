import type { MethodImplSpec } from "@connectrpc/connect";
import type { JsonOptions } from "../../json/scalar.ts";
import type { JsonWriterOptions } from "../../json/writer.ts";
import type { Endpoint } from "../../protocols/endpoint.ts";
import type { RestServiceSettings } from "../options.ts";
import type { ReadLimits } from "../request/body.ts";
import type { MatchName } from "../request/name-patterns.ts";
import type { UpdateMask } from "../request/update-mask.ts";
import type { AnswerCoding } from "../response/answer-coding.ts";
import type { Binding } from "../rule/rule.ts";

/** What serves the requests that match one binding of one method. */
export interface Route {
  readonly spec: Exclude<MethodImplSpec, { kind: "bidi_streaming" }>;
  readonly options: Endpoint["options"];
  readonly binding: Binding;
  readonly settings: RestServiceSettings;
  /** That of success. */
  readonly status: number;
  readonly readLimits: ReadLimits;
  /** The codings of its answers, the preferred first. */
  readonly answerCodings: readonly AnswerCoding[];
  /** How the mask of a PATCH is filled; undefined where it is not. */
  readonly updateMask: UpdateMask | undefined;
  /** The media types that a body of JSON may have. */
  readonly bodyTypes: readonly string[];
  /** Whether a query parameter that no field has is passed over. */
  readonly ignoresParameter: MatchName;
  /** How JSON is read and written: the options of the method, and those of REST. */
  readonly jsonOptions: JsonOptions & JsonWriterOptions;
}

/** What a request's target says beyond the route. */
export interface Target {
  /** The raw segments of the path, without a verb. */
  readonly segments: readonly string[];
  /** Raw, without its `?`. */
  readonly query: string;
}
