import type { JsonValue } from "@bufbuild/protobuf";
import type { RestOptions, RestServiceOptions } from "../../rest/options.ts";
import { renderProblem } from "../../rest/problem.ts";
import type { OpenApiOptions } from "../options.ts";

/**
 * The options of a document, with a message given by name, and rules in the JSON of
 * `google.api.HttpRule`.
 */
export interface PluginOptions extends Omit<OpenApiOptions, "error" | "rest"> {
  readonly error?: string;
  readonly rest: Omit<RestOptions, "rules"> & { readonly rules?: readonly JsonValue[] };
}

type Kind = "text" | "flag" | "object" | "list" | readonly string[];

/** The gateway options that can be set by service. */
const serviceOptions: Readonly<Record<string, Kind>> = {
  int64: ["string", "number"],
  ignoreUnknownFields: "flag",
  fillUpdateMask: "flag",
  etag: "flag",
  ranges: "flag",
  renderError: ["problem"],
};

/** The gateway options. */
const restOptions: Readonly<Record<string, Kind>> = {
  rules: "list",
  statuses: "object",
  deprecations: "object",
  services: "object",
  ...serviceOptions,
};

/** All options and their kinds. */
const options: Readonly<Record<string, Kind>> = {
  title: "text",
  version: "text",
  license: "text",
  openapi: ["3.1", "3.2"],
  names: ["short", "full"],
  bearer: "flag",
  securitySchemes: "object",
  security: "list",
  error: "text",
  errors: "object",
  examples: "object",
  textPattern: "text",
  ...restOptions,
};

/**
 * @param parameter `key=value` and `key`, separated by commas. They take precedence over the file
 * that `config` names.
 * @throws {Error} for an unknown option or an invalid value.
 */
export function parsePluginOptions(
  parameter: string,
  readText: (path: string) => string,
): PluginOptions {
  const given: { [name: string]: JsonValue } = {};
  let config: string | undefined;
  for (const pair of parameter.split(",").filter((one) => one !== "")) {
    const equals = pair.indexOf("=");
    const name = equals < 0 ? pair : pair.slice(0, equals);
    const value = equals < 0 ? "true" : pair.slice(equals + 1);
    if (name === "config") config = value;
    else given[name] = options[name] === "flag" ? flag(value) : value;
  }
  const all = { ...(config === undefined ? {} : parseConfig(config, readText)), ...given };
  for (const [name, value] of Object.entries(all)) check(options, name, value);
  const entries = Object.entries(all);
  const rest = entries.filter(([name]) => Object.hasOwn(restOptions, name));
  const others = entries.filter(([name]) => !Object.hasOwn(restOptions, name));
  return { ...Object.fromEntries(others), rest: restOf(Object.fromEntries(rest)) };
}

function restOf({ services = {}, ...given }: { [name: string]: JsonValue }): PluginOptions["rest"] {
  const byService = Object.entries(services as { [name: string]: JsonValue });
  const own = byService.map(([service, value]) => {
    if (!isObject(value)) throw new Error(`services: ${service} must have a JSON object`);
    for (const [name, one] of Object.entries(value)) check(serviceOptions, name, one);
    return [service, withRenderer(value)];
  });
  return { ...withRenderer(given), services: Object.fromEntries(own) };
}

/** The error renderer is a function there and a name here. */
function withRenderer({ renderError, ...others }: { [name: string]: JsonValue }) {
  const options: RestServiceOptions = others;
  return renderError === undefined ? options : { ...options, renderError: renderProblem };
}

function parseConfig(path: string, readText: (path: string) => string): Record<string, JsonValue> {
  const config: JsonValue = JSON.parse(readText(path));
  if (!isObject(config)) throw new Error(`config: ${path} must hold a JSON object`);
  return config;
}

function check(known: typeof options, name: string, value: JsonValue): void {
  const kind = Object.hasOwn(known, name) ? known[name] : undefined;
  if (kind === undefined) {
    const names = [...(known === options ? ["config"] : []), ...Object.keys(known)].join(", ");
    throw new Error(`no option ${JSON.stringify(name)}; there are ${names}`);
  }
  const problem = problemWith(kind, value);
  if (problem !== undefined) throw new Error(`${name} must be ${problem}`);
}

/** What the value must be, if it is not. */
function problemWith(kind: Kind, value: JsonValue): string | undefined {
  switch (kind) {
    case "text":
      return typeof value === "string" ? undefined : "text";
    case "flag":
      return typeof value === "boolean" ? undefined : "true or false";
    case "object":
      return isObject(value) ? undefined : "a JSON object, in the file that config names";
    case "list":
      return Array.isArray(value) ? undefined : "a JSON array, in the file that config names";
    default:
      return kind.includes(String(value)) ? undefined : kind.join(" or ");
  }
}

function flag(value: string): JsonValue {
  return value === "true" || value === "false" ? value === "true" : value;
}

function isObject(value: JsonValue): value is { [name: string]: JsonValue } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
