import { createReadStream } from "node:fs";
import { buffer } from "node:stream/consumers";
import { isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import { suggestName } from "./environment.ts";
import { type GivenValue, type Setting, type SettingProblem, SettingsError } from "./schema.ts";

type Types = ReadonlyMap<string, Setting["type"]>;

/**
 * Reads a file of settings. A setting that is empty there is not set, as a variable.
 * @throws {SettingsError} At once if it is not YAML: that what it sets is missing would mislead.
 */
export async function readConfigFile(file: string, types: Types) {
  const content = await readText(file).catch((error: Error) => {
    const problem = file === "" ? "is empty" : `cannot be read: ${error.message}`;
    throw new SettingsError([{ setting: file || "--config", problem }]);
  });
  return parseConfigFile(content, file, types);
}

/** Room for a thousand tokens; ends the reading of a file that has no end. */
const fileBytesMax = 1024 * 1024;

async function readText(file: string): Promise<string> {
  const bytes = await buffer(createReadStream(file, { end: fileBytesMax }));
  if (bytes.length > fileBytesMax) throw new Error(`it has more than ${fileBytesMax} bytes`);
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/** YAML of which every value is text, as a flag's, or null: nothing is a number by the way it looks. */
function parseConfigFile(content: string, file: string, types: Types) {
  const lines = new LineCounter();
  const document = parseDocument(content, {
    schema: "failsafe",
    customTags: ["null"],
    prettyErrors: false,
    stringKeys: true,
    lineCounter: lines,
  });
  const values = new Map<string, GivenValue>();
  const problems: SettingProblem[] = [];
  const lineOf = (offset: number | undefined) => lines.linePos(offset ?? 0).line;
  const refuse = (offset: number | undefined, problem: string) =>
    problems.push({ setting: `${file}, line ${lineOf(offset)}`, problem });
  // The codes, because the parser's words may quote a secret. Warnings: it leaves out tags it does not know.
  for (const { code, pos } of [...document.errors, ...document.warnings]) {
    refuse(pos[0], `is not YAML: ${code.toLowerCase().replaceAll("_", " ")}`);
  }
  const { contents } = document;
  const isEmpty = contents === null || (isScalar(contents) && !contents.value);
  if (problems.length === 0 && !isEmpty && !isMap(contents)) {
    refuse(contents.range?.[0], "write NAME: VALUE");
  }
  if (problems.length > 0) throw new SettingsError(problems);
  for (const { key, value } of isMap(contents) ? contents.items : []) {
    const name = textOf(key) ?? "";
    const isList = types.get(name) === "list";
    const text = isSeq(value) && !isList ? undefined : textOf(value);
    const place = `${file}, line ${lineOf(isScalar(key) ? key.range?.[0] : undefined)}`;
    const setting = `${name} (${place})`;
    if (!types.has(name)) {
      problems.push({ setting, problem: `is not a setting${hintFor(name, [...types.keys()])}` });
    } else if (text === undefined) {
      problems.push({ setting, problem: `must be one value${isList ? " or a list" : ""}` });
    } else if (text !== "") {
      values.set(name, { text, written: setting, origin: `file ${place}` });
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

/** A list becomes its items, separated by commas. */
function textOf(node: unknown): string | undefined {
  if (node === null) return "";
  if (isScalar(node)) return String(node.value ?? "");
  if (!isSeq(node) || !node.items.every((item) => isScalar(item))) return undefined;
  return node.items.map(textOf).join(",");
}
