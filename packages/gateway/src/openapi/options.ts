import type { DescMessage, JsonValue } from "@bufbuild/protobuf";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { type RestOptions, resolveRestOptions } from "../rest/options.ts";
import { assertOptions, optionKinds } from "../rpc/options.ts";
import type { JsonObject, NameStyle } from "./components.ts";

/** The parts of a document that are not in the protos. */
export interface OpenApiOptions {
  /** The title of the interface. Default: the full names of its services. */
  readonly title?: string;
  /** The version of the interface. Default `0.0.0`. */
  readonly version?: string;
  /** Where it is served, in OpenAPI's format: `[{ url: "/api" }]`. Default: at the root. */
  readonly servers?: readonly JsonObject[];
  /** An SPDX identifier, https://spdx.org/licenses. Default: none. */
  readonly license?: string;
  /**
   * The version of OpenAPI. Only 3.2 can describe each message of a stream, and custom HTTP
   * methods. Default `3.1`, which more tools support.
   */
  readonly openapi?: "3.1" | "3.2";
  /**
   * How operations, schemas and tags are named: `BookService_GetBook` and `Book`, or with their
   * package, which two services or messages of one name need. Default `short`.
   */
  readonly names?: NameStyle;
  /** Whether every operation requires a bearer token. Default: no. */
  readonly bearer?: boolean;
  /** Security schemes by name, in OpenAPI's format. Default: only the one of `bearer`. */
  readonly securitySchemes?: { readonly [name: string]: JsonObject };
  /** The security requirements of each operation. Default: the token, with `bearer`; otherwise none. */
  readonly security?: readonly { readonly [scheme: string]: readonly string[] }[];
  /**
   * The message that `rest.renderError` renders. Default: `google.rpc.Status`. Not needed for
   * `renderProblem`, whose form is known.
   */
  readonly error?: DescMessage;
  /** The errors that every operation may return, by status (`400`, `5XX`), in addition to a default one. */
  readonly errors?: { readonly [status: string]: ErrorAnswer };
  /**
   * A regular expression that every text in requests must match, including keys of maps. Set it if
   * the implementation rejects text that the protos allow: `^[^\\x00]*$` for a store that cannot
   * hold U+0000. Default: any text.
   */
  readonly textPattern?: string;
  /** Examples of messages, in JSON, by full name. */
  readonly examples?: { readonly [message: string]: JsonValue };
  /** The options of the gateway, including those by service. */
  readonly rest?: RestOptions;
}

export interface ErrorAnswer {
  /** When this error is returned. */
  readonly description: string;
  /** Headers by name. Their default schema is any text. */
  readonly headers?: { readonly [name: string]: { description?: string; schema?: JsonObject } };
  /** Examples of the body by name. */
  readonly examples?: { readonly [name: string]: JsonValue };
}

export type OpenApiSettings = ReturnType<typeof resolveOpenApiOptions>;

export const openApiKinds = optionKinds<Omit<OpenApiOptions, "rest">>()({
  string: "title version license textPattern",
  "list of objects": "servers security",
  object: "securitySchemes error errors examples",
  boolean: "bearer",
  "one of 3.1, 3.2": "openapi",
  "one of short, full": "names",
});

/** Validates the options and fills in the defaults. @throws {Error} */
export function resolveOpenApiOptions({ rest = {}, ...options }: OpenApiOptions) {
  assertOptions("createOpenApiDocument", options, openApiKinds);
  const { bearer = false, errors = {}, securitySchemes = {} } = options;
  for (const status of Object.keys(errors)) {
    if (/^[1-5](?:[0-9]{2}|XX)$/.test(status)) continue;
    throw new Error(`errors: ${JSON.stringify(status)} is not a status, like 404 or 4XX`);
  }
  const bearerScheme: JsonObject = { type: "http", scheme: "bearer" };
  return {
    openapi: "3.1",
    names: "short",
    version: "0.0.0",
    servers: [{ url: "/" }],
    error: StatusSchema,
    examples: {},
    security: bearer ? [{ bearer: [] }] : [],
    ...options,
    errors,
    securitySchemes: { ...(bearer && { bearer: bearerScheme }), ...securitySchemes },
    rest: resolveRestOptions(rest),
  } as const;
}
