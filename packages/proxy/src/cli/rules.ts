/** Rules from the YAML of a service configuration: the field `http` of `google.api.Service`. */
import { readFileSync } from "node:fs";
import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type HttpRule, HttpRuleSchema } from "connect-gateway/protos";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import type { Settings } from "./settings.ts";

/** Keys of a service configuration that say nothing of routes. */
const passedOver = ["config_version", "name", "title"];
const typeName = "google.api.Service";

/** @throws {CommandFailure} that names the file, the line and the problem. */
export function readRules({ rules: file }: Pick<Settings, "rules">): readonly HttpRule[] {
  if (file === undefined) return [];
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new CommandFailure(2, `${file} cannot be read: ${(cause as Error).message}`, { cause });
  }
  return parseRules(text, file);
}

export function parseRules(text: string, file: string): readonly HttpRule[] {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const fail = (reason: string, at?: number): never => {
    const line = at === undefined ? "" : `:${lines.linePos(at).line}`;
    throw new CommandFailure(2, `${file}${line}: ${reason}`);
  };
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) fail(error.message, error.pos[0]);

  const top = document.contents;
  if (!isMap(top)) return fail(form);
  for (const { key } of top.items) {
    const name = String(key);
    if (name === "http" || passedOver.includes(name)) continue;
    if (name === "type" && String(top.get("type")) === typeName) continue;
    const known = ["http", "type", ...passedOver].join(", ");
    const reason =
      name === "type" ? `type must be ${typeName}` : `${name} is unknown; known are ${known}`;
    fail(reason, offsetOf(key));
  }
  const http = top.get("http", true) as Node | undefined;
  if (!isMap(http)) return fail(form, offsetOf(http));
  for (const { key } of http.items) {
    if (String(key) !== "rules")
      fail(`http.${String(key)} is unknown; http has only rules`, offsetOf(key));
  }
  const rules = http.get("rules", true) as Node | undefined;
  if (!isSeq(rules)) return fail(form, offsetOf(rules));
  return rules.items.map((node, index) => {
    try {
      return parseRule(node as Node, document);
    } catch (reason) {
      return fail(`rule ${index + 1}: ${(reason as Error).message}`, offsetOf(node));
    }
  });
}

const form = "must be http: { rules: [ { selector: package.Service.Method, get: /path } ] }";

function parseRule(node: Node, document: Document): HttpRule {
  if (!isMap(node)) throw new Error("must have a selector and a pattern, as get: /path");
  const rule = fromJson(HttpRuleSchema, node.toJS(document) as JsonValue);
  if (rule.selector === "")
    throw new Error("the selector is missing; write selector: package.Service.Method");
  return rule;
}

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}
