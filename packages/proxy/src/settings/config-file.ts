import { closeSync, openSync, readSync } from "node:fs";
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { suggestName } from "./suggestion.ts";

export interface ConfigFile {
  /** By the names of the settings. */
  readonly values: ReadonlyMap<string, FileValue>;
  /** What is wrong with the file, one line each. */
  readonly problems: readonly string[];
}

export interface FileValue {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/** Reads a file of settings. A setting that is empty there is not set, as a variable. */
export function readConfigFile(file: string, names: readonly string[]): ConfigFile {
  try {
    const content = new TextDecoder("utf-8", { fatal: true }).decode(readBounded(file));
    return parseConfigFile(content, file, names);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { values: new Map(), problems: [`${file} cannot be read: ${reason}`] };
  }
}

/**
 * YAML of which every value is text, to be read as a flag's would be: nothing
 * is a number or a Boolean by the way it looks.
 */
function parseConfigFile(content: string, file: string, names: readonly string[]): ConfigFile {
  const lines = new LineCounter();
  const document = parseDocument(content, {
    schema: "failsafe",
    prettyErrors: false,
    stringKeys: true,
    lineCounter: lines,
  });
  const at = (offset: number | undefined) => lines.linePos(offset ?? 0).line;
  const values = new Map<string, FileValue>();
  // The codes, because the parser's words may quote a secret.
  const problems = document.errors.map(
    ({ code, pos }) =>
      `${file}, line ${at(pos[0])}: is not YAML: ${code.toLowerCase().replaceAll("_", " ")}`,
  );
  const { contents } = document;
  if (problems.length > 0 || contents === null) return { values, problems };
  if (isScalar(contents) && !contents.value) return { values, problems };
  if (!isMap(contents)) {
    return { values, problems: [`${file}, line ${at(contents.range?.[0])}: write NAME: VALUE`] };
  }
  for (const { key, value } of contents.items) {
    const name = textOf(key) ?? "";
    const text = textOf(value);
    const line = at(isScalar(key) ? key.range?.[0] : undefined);
    if (!names.includes(name)) {
      problems.push(`${name} (${file}, line ${line}): is not a setting${hintFor(name, names)}`);
    } else if (text === undefined) {
      problems.push(`${name} (${file}, line ${line}): must be one value, or a list of values`);
    } else if (text !== "") {
      values.set(name, { text, line });
    }
  }
  return { values, problems };
}

/** `basePath` and `base_path` are meant to be `base-path`. */
function hintFor(misspelt: string, names: readonly string[]): string {
  const kebab = misspelt.replaceAll(/(?<=[a-z])(?=[A-Z])|_/g, "-").toLowerCase();
  const name = suggestName(kebab.replace(/^-+/, ""), names);
  return name === undefined ? "" : `; did you mean ${name}?`;
}

/** A list is what its items are with commas between them. */
function textOf(node: unknown): string | undefined {
  if (node === null) return "";
  if (isScalar(node)) return String(node.value ?? "");
  if (!isSeq(node) || !node.items.every((item) => isScalar(item))) return undefined;
  return node.items.map(textOf).join(",");
}

/** Room for a thousand tokens; ends the reading of a file that has no end. */
const fileBytesMax = 1024 * 1024;

function readBounded(file: string): Buffer {
  const descriptor = openSync(file, "r");
  try {
    const buffer = Buffer.alloc(fileBytesMax + 1);
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(descriptor, buffer, length, buffer.length - length, null);
    }
    if (length > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
    return buffer.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}
