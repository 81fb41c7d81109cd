import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
} from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import { type FieldPath, findFieldPath, leafOf, parameterReader } from "./field-path.ts";
import { isHttpBody } from "./http-body.ts";
import { type PathTemplate, parsePathTemplate, type Variable } from "./path-template.ts";

/** One way to call a method over HTTP: a validated `google.api.HttpRule`. */
export interface Binding {
  /** The HTTP method in capitals; `*` for any. */
  readonly method: string;
  readonly template: PathTemplate;
  /** The template's variables, each with the field that it binds. */
  readonly variables: readonly (Variable & { readonly path: FieldPath })[];
  /** The content of the body: the whole request message, one of its fields, or nothing. */
  readonly body: "*" | DescField | undefined;
  /** The field of the response message that is the answer; undefined for the whole message. */
  readonly responseBody: DescField | undefined;
}

/** A `google.api.http` rule that cannot be served. Thrown at startup, never for a request. */
export class RuleError extends Error {
  override readonly name = "RuleError";
  readonly selector: string;

  constructor(of: DescMethod | string, reason: string) {
    const selector = typeof of === "string" ? of : selectorOf(of);
    super(`google.api.http of ${selector}: ${reason}`);
    this.selector = selector;
  }
}

/** Rules, and a callback for those that cannot be served, which are left out. Default: they throw. */
export interface Rules {
  readonly rules: readonly HttpRule[];
  readonly onRuleError?: ((error: RuleError) => void) | undefined;
}

/** Makes something of a rule; undefined if that is reported. @param of Has any error reported. */
export function ofRule<T>({ onRuleError }: Rules, make: () => T, of?: DescMethod) {
  try {
    return make();
  } catch (error) {
    const isOther = of !== undefined && !(error instanceof RuleError);
    const failure = isOther ? new RuleError(of, (error as Error).message) : error;
    if (onRuleError === undefined || !(failure instanceof RuleError)) throw error;
    onRuleError(failure);
    return undefined;
  }
}

/** The full name of a method, by which rules and options select it. */
export function selectorOf(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}

/**
 * The bindings of a method, from the last rule that selects it or, without one, from its
 * `google.api.http` option. None without either, or if the rule has no pattern.
 * @throws {RuleError}
 */
export function bindingsOf(method: DescMethod, rules: Rules = { rules: [] }): Binding[] {
  const rule = ofRule(rules, () => ruleOf(method, rules), method);
  if (rule === undefined) return [];
  return [rule, ...rule.additionalBindings].flatMap(
    (one) => ofRule(rules, () => [createBinding(method, one, rule)]) ?? [],
  );
}

/** The rule by which REST serves a method, if it does. @throws for an option that cannot be read. */
export function ruleOf(method: DescMethod, { rules }: Rules): HttpRule | undefined {
  const selector = selectorOf(method);
  const annotated = hasOption(method, http) ? getOption(method, http) : undefined;
  // As in http.proto: "last one wins".
  const rule = rules.findLast((one) => one.selector === selector) ?? annotated;
  return rule === undefined || isNone(rule) ? undefined : rule;
}

/** A rule without a pattern, or with an empty one: REST does not serve the method. */
function isNone({ selector, pattern, body, responseBody, additionalBindings }: HttpRule): boolean {
  const saysMore = body !== "" || responseBody !== "" || additionalBindings.length > 0;
  const hasPattern = pattern.case !== undefined && pattern.value !== "";
  return selector !== "" && !hasPattern && !saysMore;
}

/** @param whole The rule, or the one that has it as an additional binding. */
function createBinding(method: DescMethod, rule: HttpRule, whole: HttpRule): Binding {
  if (method.methodKind === "bidi_streaming") {
    const reason =
      "HTTP has no form for streams in both directions; a rule with this selector and no pattern leaves the method to RPC";
    throw new RuleError(method, reason);
  }
  if (rule !== whole && rule.additionalBindings.length > 0) {
    throw new RuleError(method, "additional_bindings must not have their own");
  }
  const { verb, path } = patternOf(method, rule);
  const template = parseTemplate(method, path);
  const variables = template.variables.map((variable) => ({
    ...variable,
    path: variablePath(method, path, variable),
  }));
  const body = rule.body === "*" ? "*" : topField(method, "input", rule.body);
  const paths = variables.map((variable) => variable.path);
  const problem =
    findConflict(typeof body === "object" ? [...paths, [body]] : paths) ??
    findLoss(method.input, { variables, body });
  if (problem !== undefined) throw new RuleError(method, `${path}: ${problem}`);
  if (body !== undefined && (verb === "GET" || verb === "HEAD")) {
    throw new RuleError(method, `${verb} ${path} must not have a body`);
  }
  const { output } = method;
  const responseBody = topField(method, "output", rule.responseBody);
  if (responseBody !== undefined && hasCustomJsonRepresentation(output)) {
    const reason = `${output.typeName} is a value in JSON, without a field ${responseBody.name}`;
    throw new RuleError(method, reason);
  }
  return { method: verb, template, variables, body, responseBody };
}

function patternOf(method: DescMethod, { pattern }: HttpRule): { verb: string; path: string } {
  switch (pattern.case) {
    case undefined:
      throw new RuleError(method, "it has no HTTP method and path");
    case "custom": {
      const { kind, path } = pattern.value;
      // RFC 9110 section 5.6.2: a method is a token. Case counts, and none that is known is in lower case.
      if (!/^[A-Z\d!#$%&'*+.^_`|~-]+$/.test(kind)) {
        throw new RuleError(method, `${JSON.stringify(kind)} is not an HTTP method, in capitals`);
      }
      if (kind === "CONNECT") {
        throw new RuleError(method, "CONNECT has no path: it asks for a tunnel");
      }
      return { verb: kind, path };
    }
    default:
      return { verb: pattern.case.toUpperCase(), path: pattern.value };
  }
}

function parseTemplate(method: DescMethod, path: string): PathTemplate {
  try {
    return parsePathTemplate(path);
  } catch (error) {
    if (error instanceof SyntaxError) throw new RuleError(method, `${path}: ${error.message}`);
    throw error;
  }
}

function variablePath(method: DescMethod, template: string, variable: Variable): FieldPath {
  const name = variable.fieldPath.join(".");
  const fail = (reason: string): never => {
    const column = template.indexOf(`{${name}`) + 2;
    throw new RuleError(method, `${template}: column ${column}: ${reason}`);
  };
  const path = findFieldPath(method.input, name, ["name", "jsonName"])?.path;
  if (path === undefined) return fail(`${method.input.typeName} has no field ${name}`);
  const leaf = leafOf(path);
  if (leaf.fieldKind === "list" || leaf.fieldKind === "map") {
    return fail(`${name} is repeated; a variable has one value`);
  }
  if (parameterReader(leaf) === undefined) return fail(`${name} is a message without a text form`);
  return path;
}

function topField(method: DescMethod, side: "input" | "output", name: string) {
  if (name === "") return undefined;
  const message = method[side];
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new RuleError(method, `${message.typeName} has no field ${name}`);
  return field;
}

/**
 * Why no request can set all the fields that a rule binds, if none can. A body may contain the field
 * of a variable, because the path takes precedence.
 */
function findConflict(paths: readonly FieldPath[]): string | undefined {
  for (const [index, path] of paths.entries()) {
    for (const other of paths.slice(0, index)) {
      const parting = path.findIndex((field, i) => field !== other[i]);
      if (parting < 0 && path.length === other.length) {
        return `the field ${leafOf(path).name} is bound twice`;
      }
      const oneof = path[parting]?.oneof;
      if (oneof !== undefined && other[parting]?.oneof === oneof) {
        return `two fields are members of the oneof ${oneof.name}`;
      }
    }
  }
  return undefined;
}

/** Why what a request sets outside its body would be lost, if it would. */
function findLoss(
  input: DescMessage,
  { variables, body }: Pick<Binding, "variables" | "body">,
): string | undefined {
  const isOpen = variables.length > 0 || (body !== "*" && input.fields.some(parameterReader));
  if (hasCustomJsonRepresentation(input) && isOpen) {
    return `only body "*", without variables, sets a ${input.typeName}`;
  }
  const isInBody = variables.some(({ path: [field] }) => body === "*" || body === field);
  return body !== undefined && isHttpBody(input, body) && isInBody
    ? "the body sets all of its google.api.HttpBody, so no variable can"
    : undefined;
}
