import type { JsonValue } from "@bufbuild/protobuf";
import type { OpenApiOptions } from "./options.ts";

/** Those of a document, with a message by its name, and rules in the JSON of `google.api.HttpRule`. */
export interface PluginOptions extends Omit<OpenApiOptions, "error" | "rest"> {
  readonly error?: string;
  readonly rest: {
    readonly rules?: readonly JsonValue[];
    readonly int64?: "string" | "number";
    readonly ignoreUnknownFields?: boolean;
  };
}

type Kind = "text" | "flag" | "object" | "list" | readonly string[];

/** Those of the gateway. */
const restOptions: Readonly<Record<string, Kind>> = {
  rules: "list",
  int64: ["string", "number"],
  ignoreUnknownFields: "flag",
};

/** What there is, and of what form. */
const options: Readonly<Record<string, Kind>> = {
  title: "text",
  version: "text",
  license: "text",
  openapi: ["3.1", "3.2"],
  bearer: "flag",
  securitySchemes: "object",
  security: "list",
  error: "text",
  errors: "object",
  examples: "object",
  ...restOptions,
};

/**
 * @param parameter `key=value` and `key`, with commas between. They go before the
 * file that `config` names.
 * @throws {Error} for an option that there is not, or of another form.
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
  const entries = Object.entries(all).map(([name, value]) => [name, checked(name, value)] as const);
  const rest = entries.filter(([name]) => Object.hasOwn(restOptions, name));
  const others = entries.filter(([name]) => !Object.hasOwn(restOptions, name));
  return { ...Object.fromEntries(others), rest: Object.fromEntries(rest) };
}

function parseConfig(path: string, readText: (path: string) => string): Record<string, JsonValue> {
  const config: JsonValue = JSON.parse(readText(path));
  if (!isObject(config)) throw new Error(`config: ${path} must hold a JSON object`);
  return config;
}

function checked(name: string, value: JsonValue): JsonValue {
  const kind = Object.hasOwn(options, name) ? options[name] : undefined;
  if (kind === undefined) {
    const names = ["config", ...Object.keys(options)].join(", ");
    throw new Error(`no option ${JSON.stringify(name)}; there are ${names}`);
  }
  const problem = problemWith(kind, value);
  if (problem !== undefined) throw new Error(`${name} must be ${problem}`);
  return value;
}

/** What it must be, if it is not. */
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
