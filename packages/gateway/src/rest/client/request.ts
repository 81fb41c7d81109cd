/** Writes a request message as path, query and body: the reverse of `request/bind.ts`. */
import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  type JsonObject,
  type JsonValue,
} from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { type JsonWriterOptions, messageToJson, takesNull } from "../../codec/json-messages.ts";
import { isJsonObject } from "../../codec/json-text.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import type { Message } from "../../rpc/call.ts";
import { RouteTable } from "../routing/route-table.ts";
import { findField, findFieldPath, jsonPath, parameterReader } from "../rule/field-path.ts";
import { getHttpBody, isHttpBody } from "../rule/http-body.ts";
import type { Segment } from "../rule/path-template.ts";
import { type Binding, bindingsOf, type Rules, selectorOf } from "../rule/rule.ts";

export interface RestRequest {
  readonly binding: Binding;
  readonly verb: string;
  readonly target: string;
  /** JSON, or the bytes of a google.api.HttpBody. */
  readonly body?: string | Uint8Array | undefined;
  readonly contentType?: string | undefined;
}

/** The bindings of methods, and a table that tells which of them a server chooses. */
export function createRoutes(rules: Rules, json: JsonWriterOptions) {
  const known = new Map<DescMethod, readonly Binding[]>();
  /** Methods whose bindings have the same variables. */
  const uniform = new Set<DescMethod>();
  const table = new RouteTable<Binding>();

  function of(method: DescMethod): readonly Binding[] {
    if (!known.has(method)) {
      for (const one of method.parent.methods) {
        const bindings = bindingsOf(one, rules);
        known.set(one, bindings);
        const names = bindings.map(({ variables }) => variables.map(({ path }) => jsonPath(path)));
        if (new Set(names.map(String)).size < 2) uniform.add(one);
        for (const binding of bindings) table.add(verbOf(binding), binding.template, binding);
      }
    }
    return known.get(method) ?? [];
  }

  /** By the first binding that can express it. @throws {ConnectError} INVALID_ARGUMENT without one. */
  function write(method: DescMethod, message: Message): RestRequest {
    const bindings = of(method);
    if (bindings.length === 0) {
      throw unimplemented(method, "it has no google.api.http rule that can be used");
    }
    // Elsewhere a zero without presence would reach another resource than the one that is named.
    const mayBeZero = uniform.has(method);
    const fields = reflect(method.input, message);
    const set = bindings.filter(
      ({ variables }) => mayBeZero || variables.every(({ path: [field] }) => fields.isSet(field)),
    );
    const reasons: FieldViolation[] = [];
    for (const binding of set.length > 0 ? set : bindings) {
      try {
        return writeBy(binding, method, message, { ...json, mayBeZero });
      } catch (error) {
        if (!(error instanceof FieldViolation)) throw error;
        reasons.push(error);
      }
    }
    throw badRequest(reasons);
  }

  /** @throws {FieldViolation} */
  function writeBy(
    binding: Binding,
    { input }: DescMethod,
    message: Message,
    options: WriterOptions,
  ): RestRequest {
    const { body, template } = binding;
    const verb = verbOf(binding);
    const isRaw = body !== undefined && isHttpBody(input, body);
    const raw = isRaw ? rawBody(body, input, message) : undefined;
    const json = jsonOf(input, raw?.others ?? message, options);
    const isValue = hasCustomJsonRepresentation(input); // then it has no place in path and query
    if (isValue && body !== "*") {
      throw new FieldViolation("", `has no place in ${verb} ${template.text}`);
    }
    const tree = isValue || !isJsonObject(json) ? {} : json;
    const path = pathOf(binding, tree, options);
    if (table.match(verb, path) !== binding) {
      throw new FieldViolation("", `cannot be sent to ${path}: that is a path of another rule`);
    }
    const content = raw ?? jsonBody(body, json, options);
    const query = body === "*" ? "" : [...parameters(tree, input)].join("&");
    return { binding, verb, target: query === "" ? path : `${path}?${query}`, ...content };
  }

  return { of, write };
}

type WriterOptions = JsonWriterOptions & { readonly mayBeZero: boolean };

export function unimplemented(method: DescMethod, reason: string): ConnectError {
  return new ConnectError(`REST cannot call ${selectorOf(method)}: ${reason}`, Code.Unimplemented);
}

export function verbOf({ method, body }: Binding): string {
  return method !== "*" ? method : body === undefined ? "GET" : "POST";
}

function nameOf(field: DescField, { useProtoFieldName }: WriterOptions): string {
  return useProtoFieldName ? field.name : field.jsonName;
}

/** @throws {FieldViolation} */
function jsonOf(input: DescMessage, message: Message, options: WriterOptions): JsonValue {
  try {
    return messageToJson(input, message, options);
  } catch (cause) {
    const reason = `cannot be written as JSON: ${ConnectError.from(cause).rawMessage}`;
    throw new FieldViolation("", reason, { cause });
  }
}

function jsonBody(body: Binding["body"], json: JsonValue, options: WriterOptions) {
  let value = body === "*" ? json : undefined;
  if (typeof body === "object") {
    const name = nameOf(body, options);
    const tree = isJsonObject(json) ? json : {};
    value = Object.hasOwn(tree, name) ? tree[name] : emptyValue(body);
    delete tree[name];
  }
  if (value === undefined) return {};
  return { body: JSON.stringify(value), contentType: "application/json" };
}

/** The JSON of a field that is not set; undefined where null would be a value: then there is no body. */
function emptyValue(field: DescField): JsonValue | undefined {
  if (field.fieldKind === "list") return [];
  if (field.fieldKind === "map") return {};
  return field.fieldKind === "message" && !takesNull(field) ? null : undefined;
}

/** The bytes of the body, and the message without them: they need no base64. */
function rawBody(body: "*" | DescField, input: DescMessage, message: Message) {
  const others = body === "*" ? create(input) : Object.assign(create(input), message);
  if (body !== "*") {
    if (!reflect(input, message).isSet(body)) {
      throw new FieldViolation(body.jsonName, "must be set: it is the body");
    }
    reflect(input, others).clear(body);
  }
  const { contentType, data, extensions } = getHttpBody(input, message, body);
  if (extensions.length > 0) throw new FieldViolation("extensions", "have no place in a body");
  if (!/^$|^[!-~](?:[ -~]*[!-~])?$/.test(contentType)) {
    throw new FieldViolation("contentType", "must be a media type");
  }
  return { others, body: data, contentType };
}

/** @throws {FieldViolation} */
function pathOf(binding: Binding, tree: JsonObject, options: WriterOptions): string {
  const { template } = binding;
  // A wildcard without a field may be anything.
  const segments = template.segments.map((one) =>
    one.kind === "literal" ? encodeLiteral(one.value) : "-",
  );
  for (const { path, from, to } of binding.variables) {
    const isInBody = binding.body === "*" || binding.body === path[0];
    const text = take(tree, path, { ...options, isInBody });
    const found = text === undefined ? undefined : split(text, template.segments.slice(from, to));
    if (found === undefined) {
      throw new FieldViolation(jsonPath(path), `must be set, and match ${template.text}`);
    }
    segments.splice(from, to - from, ...found.map((one) => encode(one, jsonPath(path))));
  }
  const verb = template.verb === undefined ? "" : `:${encodeLiteral(template.verb)}`;
  const path = `/${segments.join("/")}${verb}`;
  if (!/\/\.\.?(?:\/|$)/.test(path)) return path;
  // Clients of HTTP resolve them, even if they are percent-encoded.
  throw new FieldViolation("", `cannot be sent to ${path}: a segment must not be . or ..`);
}

function encodeLiteral(text: string): string {
  return encodeURIComponent(text).replaceAll(/%(?:24|26|2B|2C|3B|3D|40)/g, decodeURIComponent);
}

function encode(text: string, name: string): string {
  if (text.isWellFormed()) return encodeURIComponent(text);
  throw new FieldViolation(name, "must not contain a lone surrogate");
}

/** The segments of a text that matches a pattern. Only a single one may have slashes in it. */
function split(text: string, pattern: readonly Segment[]): readonly string[] | undefined {
  const isOpen = pattern.at(-1)?.kind === "rest";
  const fixed = isOpen ? pattern.slice(0, -1) : pattern;
  const isSingle = !isOpen && fixed.length === 1;
  const pieces = isSingle ? [text] : text === "" ? [] : text.split("/");
  const isMatch = fixed.every((segment, i) =>
    segment.kind === "literal" ? pieces[i] === segment.value : Boolean(pieces[i]),
  );
  return isMatch && (isOpen || pieces.length === fixed.length) ? pieces : undefined;
}

/**
 * Takes the text of a field out of the JSON of a message; undefined if it is not set. Messages around
 * it that become empty go too, as the path sets them; not those of a body.
 */
function take(
  tree: JsonObject,
  [field, ...inner]: readonly DescField[],
  options: WriterOptions & { readonly isInBody: boolean },
): string | undefined {
  if (field === undefined) return undefined;
  const name = nameOf(field, options);
  const child = Object.hasOwn(tree, name) ? tree[name] : undefined;
  if (inner.length === 0) {
    delete tree[name];
    if (child !== undefined) return textOf(child);
    const hasZero = options.mayBeZero && field.presence === FeatureSet_FieldPresence.IMPLICIT;
    return hasZero ? String(reflect(field.parent).get(field)) : undefined;
  }
  if (!isJsonObject(child)) return undefined;
  const text = take(child, inner, options);
  if (!options.isInBody && Object.keys(child).length === 0) delete tree[name];
  return text;
}

function textOf(json: JsonValue): string {
  return json === null ? "NULL_VALUE" : String(isJsonObject(json) ? json["rawJSON"] : json);
}

/** @throws {FieldViolation} for a field that a query cannot hold. */
function* parameters(
  json: JsonObject,
  input: DescMessage,
  desc = input,
  prefix = "",
): Generator<string> {
  for (const [key, value] of Object.entries(json)) {
    const name = `${prefix}${key}`;
    const fail = (reason: string) => new FieldViolation(name, reason);
    const field = findField(desc, key);
    if (field === undefined) throw fail("is an extension, which a query cannot hold");
    const { fieldKind, message } = field;
    const isPlural = fieldKind === "list" || fieldKind === "map";
    if (isPlural && Object.keys(value as object).length === 0) continue;
    const hasText = parameterReader(field) !== undefined && fieldKind !== "map";
    if (fieldKind === "message" && !hasText && message && !hasCustomJsonRepresentation(message)) {
      const inner = [...parameters(value as JsonObject, input, message, `${name}.`)];
      if (inner.length === 0) throw fail("is an empty message, which a query cannot hold");
      yield* inner;
      continue;
    }
    if (!hasText) throw fail("cannot be in a query");
    // A JSON name may be any text, which may be read as the path to another field.
    const { path, key: entry } = findFieldPath(input, name) ?? {};
    const isRead = entry === undefined && path?.length === name.split(".").length;
    if (!isRead || path.at(-1) !== field) throw fail("has a name that a query cannot hold");
    for (const one of Array.isArray(value) ? value : [value]) {
      yield `${encode(name, name)}=${encode(textOf(one), name)}`;
    }
  }
}
