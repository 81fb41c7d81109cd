import type { TestPlant } from "../history/check.ts";

/** Reads a plant in JSON, as `POST /plants` or an RPC accepts it; undefined for anything else. */
export function readJsonPlant(bytes: Buffer, kind: "rest" | "rpc"): TestPlant | undefined {
  const text = bytes.toString("utf8");
  if (!Buffer.from(text).equals(bytes)) return undefined; // it was not UTF-8
  let value: unknown;
  try {
    value = JSON.parse(text, keepSource as (key: string, value: unknown) => unknown);
  } catch {
    return undefined;
  }
  if (hasMemberTwice(text) || !isObject(value)) return undefined;
  if (kind === "rpc") return isObject(value["plant"]) ? plantOf(value["plant"]) : undefined;
  const isKnown = (name: string) => ["id", "name", "tag"].includes(name);
  return Object.keys(value).every(isKnown) ? plantOf(value) : undefined;
}

/** Of a number in JSON. Its value would be rounded. */
class NumberSource extends String {}

function keepSource(_key: string, value: unknown, { source = "" }: { source?: string }): unknown {
  return typeof value === "number" ? new NumberSource(source) : value;
}

type Members = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Members {
  return Object.prototype.toString.call(value) === "[object Object]";
}

function plantOf(members: Members): TestPlant | undefined {
  const id = integerOf(members["id"]);
  const { name, tag } = members;
  if (id === undefined || !isText(name)) return undefined;
  if (tag === undefined || tag === null) return { id, name };
  return isText(tag) ? { id, name, tag } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0");
}

function integerOf(value: unknown): bigint | undefined {
  if (typeof value === "string" && !/^-?(0|[1-9]\d*)$/.test(value)) return undefined;
  if (typeof value !== "string" && !(value instanceof NumberSource)) return undefined;
  const [, sign, whole = "", part = "", power = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(String(value)) ?? [];
  if (sign === undefined) return undefined;
  const digits = (whole + part).replace(/^0+/, "");
  if (digits === "") return 0n;
  const shift = Number(power) - part.length;
  if (shift > 20 || digits.length + shift > 20) return undefined;
  // Counted from the end: a pattern would try each of a million zeros.
  let zeros = 0;
  while (digits.at(-1 - zeros) === "0") zeros++;
  if (-shift > zeros) return undefined;
  const shown = shift < 0 ? digits.slice(0, shift) : digits + "0".repeat(shift);
  const id = BigInt(`${sign}${shown}`);
  return BigInt.asIntN(64, id) === id ? id : undefined;
}

/** @param text A text that JSON.parse accepts. It keeps only one of several equal names. */
function hasMemberTwice(text: string): boolean {
  const open: Set<string>[] = [];
  for (const [token, name] of text.matchAll(/("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (name !== undefined) {
      const key: string = JSON.parse(name);
      if (open.at(-1)?.has(key)) return true;
      open.at(-1)?.add(key);
    }
  }
  return false;
}
