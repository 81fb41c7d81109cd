/** Whether protovalidate's rules reject the unset value of a field without presence. */
import type { JsonValue } from "@bufbuild/protobuf";
import { type FieldRules, listOf, typeRules } from "./options.ts";
import { formats, isPortable } from "./text.ts";

/** Whether the rules reject the unset value of a field without presence. */
export function refusesZero(rules: FieldRules): boolean {
  if (rules["ignore"] === "IGNORE_IF_ZERO_VALUE") return false;
  const [kind, own] = typeRules(rules);
  switch (kind) {
    case "string":
    case "bytes":
      return refusesEmpty(own);
    case "repeated":
      return Number(own["minItems"] ?? 0) > 0;
    case "map":
      return Number(own["minPairs"] ?? 0) > 0;
    case "bool":
      return own["const"] === true;
    case "any":
    case "duration":
    case "timestamp":
    case "fieldMask":
      return false; // messages have presence
    default:
      return refusesNumberZero(own);
  }
}

function refusesEmpty(rules: FieldRules): boolean {
  const lengths = ["len", "minLen", "lenBytes", "minBytes"];
  const { pattern } = rules;
  return (
    lengths.some((name) => Number(rules[name] ?? 0) > 0) ||
    ["prefix", "suffix", "contains"].some((name) => (rules[name] ?? "") !== "") ||
    Object.keys(formats).some((name) => rules[name] === true && name !== "uriRef") ||
    (typeof pattern === "string" && isPortable(pattern) && !new RegExp(pattern, "u").test("")) ||
    (rules["const"] ?? "") !== "" ||
    (rules["in"] !== undefined && !listOf(rules["in"]).includes(""))
  );
}

function refusesNumberZero(rules: FieldRules): boolean {
  const zero = (value: JsonValue) => Number(value) === 0;
  const below = Number(rules["gte"] ?? -1) > 0 || Number(rules["gt"] ?? -1) >= 0;
  const above = Number(rules["lte"] ?? 1) < 0 || Number(rules["lt"] ?? 1) <= 0;
  const from = Number(rules["gte"] ?? rules["gt"] ?? Number.NEGATIVE_INFINITY);
  const to = Number(rules["lte"] ?? rules["lt"] ?? Number.POSITIVE_INFINITY);
  return (
    (from > to ? below && above : below || above) ||
    !zero(rules["const"] ?? 0) ||
    (rules["in"] !== undefined && !listOf(rules["in"]).some(zero)) ||
    listOf(rules["notIn"] ?? []).some(zero)
  );
}
