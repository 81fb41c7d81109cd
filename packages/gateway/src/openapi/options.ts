import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import type { JsonObject } from "./json-object.ts";

/** What a document says beyond the protos. */
export interface OpenApiOptions {
  /** The title of the interface. Default: the full names of its services. */
  readonly title?: string;
  /** The version of the interface. Default `0.0.0`. */
  readonly version?: string;
  /** An SPDX identifier, https://spdx.org/licenses. Default: none. */
  readonly license?: string;
  /**
   * The version of OpenAPI. Only 3.2 can describe each message of a stream, and HTTP
   * methods of one's own. Default `3.1`, which more tools read.
   */
  readonly openapi?: "3.1" | "3.2";
  /** Whether every operation asks for a bearer token. Default: no. */
  readonly bearer?: boolean;
  /** Security schemes by name, as OpenAPI has them. Default: none but that of `bearer`. */
  readonly securitySchemes?: { readonly [name: string]: JsonObject };
  /** What each operation asks for. Default: the token, with `bearer`; else nothing. */
  readonly security?: readonly { readonly [scheme: string]: readonly string[] }[];
  /**
   * What `rest.renderError` makes. Default: `google.rpc.Status`. That of `renderProblem` is known,
   * and needs no message.
   */
  readonly error?: DescMessage;
  /** The errors that every operation may answer, by status (`400`, `5XX`), beside any other one. */
  readonly errors?: { readonly [status: string]: ErrorAnswer };
  /**
   * A regular expression that every text in requests must match, fields and keys of maps, where the
   * implementation refuses what the protos have no rule against: `^[^\\x00]*$` for a store that
   * cannot hold U+0000. Default: any text.
   */
  readonly textPattern?: string;
  /** An example of a message, in JSON, by its full name. */
  readonly examples?: { readonly [message: string]: JsonValue };
  /** The options of the gateway, those by service included. */
  readonly rest?: RestOptions;
}

export interface ErrorAnswer {
  /** When it is answered. */
  readonly description: string;
  /** Headers by name. Their schema is by default that of any text. */
  readonly headers?: { readonly [name: string]: { description?: string; schema?: JsonObject } };
  /** Examples of the body, by a name each. */
  readonly examples?: { readonly [name: string]: JsonValue };
}

export type OpenApiSettings = ReturnType<typeof resolveOpenApiOptions>;

/** Checks the options, and fills in the defaults. @throws {Error} */
export function resolveOpenApiOptions({ rest = {}, ...options }: OpenApiOptions) {
  const { bearer = false, errors = {}, securitySchemes = {} } = options;
  for (const status of Object.keys(errors)) {
    if (/^[1-5](?:[0-9]{2}|XX)$/.test(status)) continue;
    throw new Error(`errors: ${JSON.stringify(status)} is not a status, like 404 or 4XX`);
  }
  const bearerScheme: JsonObject = { type: "http", scheme: "bearer" };
  return {
    openapi: "3.1",
    version: "0.0.0",
    error: StatusSchema,
    examples: {},
    security: bearer ? [{ bearer: [] }] : [],
    ...options,
    errors,
    securitySchemes: { ...(bearer && { bearer: bearerScheme }), ...securitySchemes },
    rest: resolveRestOptions(rest),
  } as const;
}
