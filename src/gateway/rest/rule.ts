import { type DescField, type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import type { HttpRule } from "../../../gen/google/api/http_pb.ts";

/** One way to reach a method over HTTP: a `google.api.HttpRule`, checked. */
export interface Binding {
  /** The HTTP method, in capitals. */
  readonly method: string;
  /** The path: `/` and literal segments. */
  readonly path: string;
  /** What the body holds: the whole request message, one field of it, or nothing. */
  readonly body: "*" | DescField | undefined;
  /** The field of the response message that is answered; the whole if undefined. */
  readonly responseBody: DescField | undefined;
}

/** A `google.api.http` option that cannot be served. Stops the start, never a request. */
export class RuleError extends Error {
  override readonly name = "RuleError";

  constructor(method: DescMethod, reason: string) {
    super(`google.api.http of ${method.parent.typeName}.${method.name}: ${reason}`);
  }
}

/**
 * The bindings that the method's `google.api.http` option declares; none
 * without one.
 *
 * @throws {RuleError}
 */
export function bindingsOf(method: DescMethod): Binding[] {
  if (!hasOption(method, http)) return [];
  const rule = getOption(method, http);
  if (method.methodKind !== "unary") {
    throw new RuleError(method, "streaming methods cannot be served over REST");
  }
  return [rule, ...rule.additionalBindings].map((one) => createBinding(method, one));
}

function createBinding(method: DescMethod, rule: HttpRule): Binding {
  const { verb, path } = patternOf(method, rule);
  return {
    method: verb,
    path,
    body: rule.body === "*" ? "*" : fieldOf(method, "input", rule.body),
    responseBody: fieldOf(method, "output", rule.responseBody),
  };
}

function patternOf(method: DescMethod, rule: HttpRule): { verb: string; path: string } {
  const { pattern } = rule;
  if (pattern.case === undefined) throw new RuleError(method, "it has no method and path");
  const verb = pattern.case === "custom" ? pattern.value.kind : pattern.case.toUpperCase();
  const path = pattern.case === "custom" ? pattern.value.path : pattern.value;
  const literal = /^(\/[\w.~!$&'()+,;=@%-]+)+/.exec(path)?.[0] ?? "";
  if (literal !== path || path === "") {
    throw new RuleError(method, `${path}, column ${literal.length + 1}: only literals are served`);
  }
  return { verb, path };
}

function fieldOf(method: DescMethod, side: "input" | "output", name: string) {
  if (name === "") return undefined;
  const message = method[side];
  const field = message.fields.find((candidate) => candidate.name === name);
  if (field === undefined) throw new RuleError(method, `${message.typeName} has no field ${name}`);
  return field;
}
