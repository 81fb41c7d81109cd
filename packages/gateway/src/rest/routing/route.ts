import type { MethodImplSpec } from "@connectrpc/connect";
import type { JsonWriterOptions } from "../../codec/json-messages.ts";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import type { Endpoint } from "../../rpc/endpoint.ts";
import type { RestServiceSettings } from "../options.ts";
import type { MatchName } from "../request/bind.ts";
import type { UpdateMask } from "../request/update-mask.ts";
import type { AnswerCoding } from "../response/answer-coding.ts";
import type { Binding } from "../rule/rule.ts";

/** One binding of one method, and how it is served. */
export interface Rest {
  readonly spec: Exclude<MethodImplSpec, { kind: "bidi_streaming" }>;
  readonly options: Endpoint["options"];
  /** Of its path. */
  readonly prefix: string;
  readonly binding: Binding;
  /** Whether the body, and the answer, is a google.api.HttpBody. */
  readonly isHttpBody: { readonly request: boolean; readonly answer: boolean };
  readonly settings: RestServiceSettings;
  /** The usual status of success. */
  readonly status: number;
  /** The codings of its answers, in order of preference. */
  readonly answerCodings: readonly AnswerCoding[];
  /** How to fill the mask of a PATCH; undefined if it is not filled. */
  readonly updateMask: UpdateMask | undefined;
  /** The media types accepted for a JSON body. */
  readonly bodyTypes: readonly string[];
  /** Whether to ignore an unknown query parameter. */
  readonly ignoresParameter: MatchName;
  /** How to read JSON: the options of the method and of REST. */
  readonly jsonOptions: JsonOptions;
  /** The same for writing. */
  readonly writerOptions: JsonWriterOptions;
}
