import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "../../gen/google/api/http_pb.ts";
import { type RenderError, renderStatus } from "./error.ts";
import type { StreamFormatName } from "./stream-format.ts";

/** What REST adds to the options of a Connect router. */
export interface RestOptions {
  /** Renders an error for a client. Default: `google.rpc.Status` in JSON. */
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
   * Rules for methods that their proto does not annotate, as in a service
   * config: `HttpRule`s or plain objects, each with the full name of its method
   * as `selector`. They replace the method's annotation.
   */
  readonly rules?: readonly MessageInitShape<typeof HttpRuleSchema>[];
}

export interface RestSettings extends Required<RestOptions> {
  readonly rules: readonly HttpRule[];
}

export function resolveRestOptions({ rules = [], ...options }: RestOptions): RestSettings {
  return {
    renderError: renderStatus,
    ignoreUnknownFields: false,
    int64: "string",
    streamFormat: "ndjson",
    ...options,
    rules: rules.map((rule) => create(HttpRuleSchema, rule)),
  };
}
