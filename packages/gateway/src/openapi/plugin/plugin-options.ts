import type { JsonValue } from "@bufbuild/protobuf";
import { isJsonObject } from "../../codec/json-value.ts";
import {
  type RestOptions,
  type RestServiceOptions,
  restKinds,
  restServiceKinds,
} from "../../rest/options.ts";
import { renderProblem } from "../../rest/problem.ts";
import { assertOptions, type OptionKinds } from "../../rpc/options.ts";
import type { OpenApiOptions } from "../options.ts";

/**
 * The options of a document, with a message given by name, and rules in the JSON of
 * `google.api.HttpRule`.
 */
export interface PluginOptions extends Omit<OpenApiOptions, "error" | "rest"> {
  readonly error?: string;
  readonly rest: Omit<RestOptions, "rules"> & { readonly rules?: readonly JsonValue[] };
}

/** The error renderer is a function there and a name here. */
const renderer = { renderError: ["problem"] };
const serviceOptions: OptionKinds = { ...restServiceKinds, ...renderer };
const restOptions: OptionKinds = { ...restKinds, ...renderer };

const options: OptionKinds = {
  config: "string",
  title: "string",
  version: "string",
  license: "string",
  openapi: ["3.1", "3.2"],
  names: ["short", "full"],
  bearer: "boolean",
  securitySchemes: "object",
  security: "list",
  error: "string",
  errors: "object",
  examples: "object",
  textPattern: "string",
  ...restOptions,
};

type Given = { [name: string]: JsonValue };

/**
 * @param parameter `key=value` and `key`, separated by commas. They take precedence over the file
 * that `config` names, which alone can hold objects and lists.
 * @throws {Error} for an unknown option or an invalid value.
 */
export function parsePluginOptions(
  parameter: string,
  readText: (path: string) => string,
): PluginOptions {
  const given: Given = {};
  for (const pair of parameter.split(",").filter((one) => one !== "")) {
    const [name = "", ...values] = pair.split("=");
    const value = values.length === 0 ? "true" : values.join("=");
    const isFlag = options[name] === "boolean" && (value === "true" || value === "false");
    given[name] = isFlag ? value === "true" : value;
  }
  const { config, ...own } = given;
  const file = config === undefined ? {} : JSON.parse(readText(String(config)));
  if (!isJsonObject(file)) throw new Error(`config: ${config} must hold a JSON object`);
  const all: Given = { ...file, ...own };
  assertOptions("options", all, options);
  const { services = {}, ...entries } = all;
  const byService = Object.entries(services as { [name: string]: Given });
  for (const [service, value] of byService) {
    assertOptions(`options.services["${service}"]`, value, serviceOptions);
  }
  const pick = (isRest: boolean) =>
    Object.entries(entries).filter(([name]) => Object.hasOwn(restOptions, name) === isRest);
  const rest = {
    ...withRenderer(Object.fromEntries(pick(true))),
    services: Object.fromEntries(byService.map(([name, value]) => [name, withRenderer(value)])),
  };
  return { ...Object.fromEntries(pick(false)), rest };
}

function withRenderer({ renderError, ...others }: Given): RestServiceOptions {
  return renderError === undefined ? others : { ...others, renderError: renderProblem };
}
