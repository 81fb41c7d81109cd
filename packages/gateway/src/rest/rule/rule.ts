import { type DescField, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";
import { type FieldPath, leafOf, resolveFieldPath } from "./field-path.ts";
import { parameterReader } from "./parameter.ts";
import {
  type PathTemplate,
  parsePathTemplate,
  TemplateError,
  type Variable,
} from "./path-template.ts";

/** One way to call a method over HTTP: a validated `google.api.HttpRule`. */
export interface Binding {
  /** The HTTP method in capitals; `*` for any. */
  readonly method: string;
  readonly template: PathTemplate;
  /** The template's variables, each with the field that it binds. */
  readonly variables: readonly (Variable & { readonly path: FieldPath })[];
  /** What the body contains: the whole request message, one of its fields, or nothing. */
  readonly body: "*" | DescField | undefined;
  /** The field of the response message that is the answer; undefined for the whole message. */
  readonly responseBody: DescField | undefined;
}

/** Methods of the IANA registry that a rule may name in the wrong case. */
const methods: ReadonlySet<string> = new Set(
  (
    "GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH QUERY SEARCH REPORT " +
    "PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK"
  ).split(" "),
);

/** A `google.api.http` rule that cannot be served. Thrown at startup, never for a request. */
export class RuleError extends Error {
  override readonly name = "RuleError";
  /** The full name of the method. */
  readonly selector: string;

  constructor(of: DescMethod | string, reason: string) {
    const selector = typeof of === "string" ? of : selectorOf(of);
    super(`google.api.http of ${selector}: ${reason}`);
    this.selector = selector;
  }
}

/** Rules, and who is told of those that cannot be served: they are left out. Default: they throw. */
export interface Rules {
  readonly rules: readonly HttpRule[];
  readonly onRuleError?: ((error: RuleError) => void) | undefined;
}

/** What is made of a rule; undefined if that cannot be served, and somebody is told. @throws {RuleError} */
export function ofRule<T>({ onRuleError }: Pick<Rules, "onRuleError">, make: () => T) {
  try {
    return make();
  } catch (error) {
    if (onRuleError === undefined || !(error instanceof RuleError)) throw error;
    onRuleError(error);
    return undefined;
  }
}

/** The full name of a method, by which rules and options select it. */
export function selectorOf(method: DescMethod): string {
  return `${method.parent.typeName}.${method.name}`;
}

/**
 * Asserts that each rule selects one of the methods.
 *
 * @throws {RuleError}
 */
export function assertSelectors(rules: Rules, methods: readonly DescMethod[]): void {
  const selectors = new Set(methods.map(selectorOf));
  for (const { selector } of rules.rules) {
    if (selectors.has(selector)) continue;
    ofRule(rules, () => {
      const name = selector || "a rule without a selector";
      throw new RuleError(name, "no method that is served has it");
    });
  }
}

/**
 * The bindings of a method. They come from the last rule that selects it or, without one, from its
 * `google.api.http` option. There are none without either, or if the rule has no pattern.
 *
 * @throws {RuleError}
 */
export function bindingsOf(method: DescMethod, rules: Rules = noRules): Binding[] {
  const rule = ruleOf(method, rules);
  if (rule === undefined) return [];
  return [rule, ...rule.additionalBindings].flatMap(
    (one) => ofRule(rules, () => [createBinding(method, one, rule)]) ?? [],
  );
}

const noRules: Rules = { rules: [] };

function ruleOf(method: DescMethod, { rules }: Rules): HttpRule | undefined {
  const selector = selectorOf(method);
  const annotated = hasOption(method, http) ? getOption(method, http) : undefined;
  // As in http.proto: "last one wins".
  const rule = rules.findLast((one) => one.selector === selector) ?? annotated;
  return rule === undefined || isNone(rule) ? undefined : rule;
}

/** Whether REST serves a method, or leaves out its rule, of which somebody is told. */
export function hasRule(method: DescMethod, rules: Rules): boolean {
  return ruleOf(method, rules) !== undefined;
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
    throw new RuleError(
      method,
      "HTTP has no form for streams in both directions; a rule with this selector and no pattern leaves the method to RPC",
    );
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
  const conflict = findConflict(
    variables.map((variable) => variable.path),
    body,
  );
  if (conflict !== undefined) throw new RuleError(method, `${path}: ${conflict}`);
  if (body !== undefined && (verb === "GET" || verb === "HEAD")) {
    throw new RuleError(method, `${verb} ${path} must not have a body`);
  }
  return {
    method: verb,
    template,
    variables,
    body,
    responseBody: topField(method, "output", rule.responseBody),
  };
}

function patternOf(method: DescMethod, { pattern }: HttpRule): { verb: string; path: string } {
  switch (pattern.case) {
    case undefined:
      throw new RuleError(method, "it has no HTTP method and path");
    case "custom": {
      const { kind, path } = pattern.value;
      // RFC 9110 section 5.6.2: a method is a token.
      if (!/^[\w!#$%&'*+.^`|~-]+$/.test(kind)) {
        throw new RuleError(method, `${JSON.stringify(kind)} is not an HTTP method`);
      }
      const capitals = kind.toUpperCase();
      if (kind !== capitals && methods.has(capitals)) {
        throw new RuleError(method, `"${kind}" is not the HTTP method ${capitals}: case counts`);
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
    if (error instanceof TemplateError) throw new RuleError(method, `${path}: ${error.message}`);
    throw error;
  }
}

function variablePath(method: DescMethod, template: string, variable: Variable): FieldPath {
  const name = variable.fieldPath.join(".");
  const fail = (reason: string): never => {
    const column = template.indexOf(`{${name}`) + 2;
    throw new RuleError(method, `${template}: column ${column}: ${reason}`);
  };
  const path = resolveFieldPath(method.input, variable.fieldPath);
  if (!("kind" in path)) {
    const leaf = leafOf(path);
    if (leaf.fieldKind === "list" || leaf.fieldKind === "map") {
      return fail(`${name} is repeated; a variable has one value`);
    }
    if (parameterReader(leaf) === undefined)
      return fail(`${name} is a message without a text form`);
    return path;
  }
  return path.kind === "unknown"
    ? fail(`${path.message.typeName} has no field ${path.name}`)
    : fail(`${path.field.name} is not a message that stands alone`);
}

function topField(method: DescMethod, side: "input" | "output", name: string) {
  if (name === "") return undefined;
  const message = method[side];
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new RuleError(method, `${message.typeName} has no field ${name}`);
  return field;
}

/**
 * Why no request can set all the fields that a rule binds: two are the same field, or members of
 * the same oneof. A body may contain the field of a variable, because the path takes precedence.
 *
 * @returns the reason; undefined if there is none.
 */
function findConflict(
  variables: readonly FieldPath[],
  body: "*" | DescField | undefined,
): string | undefined {
  for (const [index, path] of variables.entries()) {
    for (const other of variables.slice(0, index)) {
      if (isSame(path, other)) return `two variables are the field ${leafOf(path).name}`;
      const oneof = sharedOneof(path, other);
      if (oneof !== undefined) return `two variables are members of the oneof ${oneof}`;
    }
    if (typeof body !== "object") continue;
    if (isSame(path, [body])) return `the field ${body.name} is a variable, and the body`;
    const oneof = sharedOneof(path, [body]);
    if (oneof !== undefined) return `a variable and the body are members of the oneof ${oneof}`;
  }
  return undefined;
}

function isSame(left: FieldPath, right: FieldPath): boolean {
  return left.length === right.length && left.every((field, i) => field === right[i]);
}

/** The oneof that conflicts, at the point where the paths diverge. */
function sharedOneof(left: FieldPath, right: FieldPath): string | undefined {
  const parting = left.findIndex((field, i) => field !== right[i]);
  const oneof = left[parting]?.oneof;
  return oneof !== undefined && right[parting]?.oneof === oneof ? oneof.name : undefined;
}
