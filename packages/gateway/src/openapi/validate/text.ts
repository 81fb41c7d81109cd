/** Protovalidate's rules for text and bytes. */
import type { JsonValue } from "@bufbuild/protobuf";
import type { JsonObject } from "../json-object.ts";
import { type FieldRules, listOf } from "./options.ts";

export function stringConditions(rules: FieldRules): JsonObject[] {
  const least = rules["len"] ?? rules["minLen"];
  // A character has at least one byte.
  const most = rules["len"] ?? rules["maxLen"] ?? rules["lenBytes"] ?? rules["maxBytes"];
  const { pattern, prefix, suffix, contains, notContains } = rules;
  const patterns = [
    typeof pattern === "string" && isPortable(pattern) ? pattern : undefined,
    typeof prefix === "string" ? `^${quote(prefix)}` : undefined,
    typeof suffix === "string" ? `${quote(suffix)}$` : undefined,
    typeof contains === "string" ? quote(contains) : undefined,
  ];
  return [
    ...valueConditions(rules),
    pick("minLength", least),
    pick("maxLength", most),
    ...patterns.map((one) => pick("pattern", one)),
    typeof notContains === "string" ? { not: { pattern: quote(notContains) } } : {},
    ...Object.entries(formats).map(([name, format]) => (rules[name] === true ? format : {})),
  ];
}

/** Bounds for the text: base64 has four characters for three bytes, and padding may be omitted. */
export function bytesConditions(rules: FieldRules): JsonObject[] {
  const least = rules["len"] ?? rules["minLen"];
  const most = rules["len"] ?? rules["maxLen"];
  if (least === undefined && most === undefined) return valueConditions(rules);
  const characters = (bytes: JsonValue) => Math.ceil((Number(bytes) * 4) / 3);
  const counted = `{${characters(least ?? 0)},${most === undefined ? "" : characters(most)}}`;
  return [...valueConditions(rules), { pattern: `^[A-Za-z0-9+/_-]${counted}={0,2}$` }];
}

/** Escapes a text for use in a regular expression. */
function quote(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** Conditions from the rules of all types. */
export function valueConditions(rules: FieldRules): JsonObject[] {
  return [
    rules["const"] === undefined ? {} : { enum: [rules["const"]] },
    rules["in"] === undefined ? {} : { enum: listOf(rules["in"]) },
    rules["notIn"] === undefined ? {} : { not: { enum: listOf(rules["notIn"]) } },
  ];
}

/** The keyword with the value of a rule, if the rule is set. */
export function pick(keyword: string, value: JsonValue | undefined): JsonObject {
  if (value === undefined) return {};
  return { [keyword]: typeof value === "string" && keyword !== "pattern" ? Number(value) : value };
}

const hex = "[0-9a-fA-F]";

/** Boolean rules. */
export const formats: Readonly<Record<string, JsonObject>> = {
  email: { format: "email" },
  hostname: { format: "hostname" },
  ip: { anyOf: [{ format: "ipv4" }, { format: "ipv6" }] },
  ipv4: { format: "ipv4" },
  ipv6: { format: "ipv6" },
  uri: { format: "uri" },
  uriRef: { format: "uri-reference" },
  address: { anyOf: [{ format: "hostname" }, { format: "ipv4" }, { format: "ipv6" }] },
  uuid: { format: "uuid", pattern: `^${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}$` },
  tuuid: { pattern: `^${hex}{32}$` },
  ulid: { pattern: "^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$" },
};

/** Whether a pattern for RE2 is also valid in JavaScript. */
export function isPortable(pattern: string): boolean {
  try {
    new RegExp(pattern, "u");
    return true;
  } catch {
    return false;
  }
}
