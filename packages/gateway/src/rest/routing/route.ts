import type { MethodImplSpec } from "@connectrpc/connect";
import type { JsonWriterOptions } from "../../codec/json-messages.ts";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import type { Endpoint } from "../../rpc/endpoint.ts";
import type { RestSettings } from "../options.ts";
import type { MatchName } from "../request/bind.ts";
import type { UpdateMask } from "../request/update-mask.ts";
import type { AnswerCoding } from "../response/answer-coding.ts";
import type { Binding } from "../rule/rule.ts";

/** One binding of one method, and how it is served. */
export interface Rest {
  readonly spec: Exclude<MethodImplSpec, { kind: "bidi_streaming" }>;
  readonly options: Endpoint["options"];
  readonly prefix: string;
  readonly binding: Binding;
  /** Whether the body, and the answer, is a google.api.HttpBody. */
  readonly isHttpBody: { readonly request: boolean; readonly answer: boolean };
  readonly settings: RestSettings;
  readonly status: number;
  readonly answerCodings: readonly AnswerCoding[];
  /** How to fill the mask of a PATCH; undefined if it is not filled. */
  readonly updateMask: UpdateMask | undefined;
  readonly bodyTypes: readonly string[];
  readonly ignoresParameter: MatchName;
  /** How to read JSON: the options of the method and of REST. */
  readonly jsonOptions: JsonOptions;
  readonly writerOptions: JsonWriterOptions;
}
