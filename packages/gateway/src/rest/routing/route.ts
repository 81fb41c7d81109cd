import type { MethodImplSpec } from "@connectrpc/connect";
import type { JsonOptions } from "../../codec/json-scalar.ts";
import type { JsonWriterOptions } from "../../codec/json-writer.ts";
import type { NodeHeaders } from "../../http/headers.ts";
import type { Endpoint } from "../../rpc/endpoint.ts";
import type { RestServiceSettings } from "../options.ts";
import type { MatchName } from "../request/bind.ts";
import type { UpdateMask } from "../request/update-mask.ts";
import type { AnswerCoding } from "../response/answer-coding.ts";
import type { Pages } from "../response/next-page.ts";
import type { Binding } from "../rule/rule.ts";

/** Serves the requests that match one binding of one method. */
export interface Route {
  readonly spec: Exclude<MethodImplSpec, { kind: "bidi_streaming" }>;
  readonly options: Endpoint["options"];
  readonly binding: Binding;
  /** Whether the body, and the answer, is a google.api.HttpBody. */
  readonly isHttpBody: { readonly request: boolean; readonly answer: boolean };
  readonly settings: RestServiceSettings;
  /** The usual status of success. */
  readonly status: number;
  /** Headers of every answer. */
  readonly header: NodeHeaders;
  /** Undefined if it does not answer in pages. */
  readonly pages: Pages | undefined;
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

/** The parts of a request's target beyond the route. */
export interface Target {
  /** The raw segments of the path, without a verb. */
  readonly segments: readonly string[];
  /** Raw, without the `?`. */
  readonly query: string;
}
