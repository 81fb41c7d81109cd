/** Headers for upstreams, in files, since they may be API keys: no message shows a value. */
import { readFileSync } from "node:fs";
import { findMetadataProblem } from "../services/metadata.ts";

/** Reads a file again when it is told to. While it is wrong, the old headers stay. */
export class HeaderFile {
  readonly #file: string | undefined;
  headers: Readonly<Record<string, string>>;

  /** @throws {Error} as {@link readHeaderFile}. */
  constructor(file: string | undefined) {
    this.#file = file;
    this.headers = readHeaderFile(file);
  }

  reload(): void {
    this.headers = readHeaderFile(this.#file);
  }
}

/** One `NAME: VALUE` a line. @throws {Error} that names the file and the line. */
export function readHeaderFile(file: string | undefined): Readonly<Record<string, string>> {
  if (file === undefined) return {};
  const lines = readFileSync(file, "utf8").split("\n");
  const fields = lines.flatMap((line, index) => {
    if (line.trim() === "") return [];
    const [, name = "", value = ""] = /^([^:]*):(.*)$/.exec(line.trim()) ?? [];
    const problem = findMetadataProblem(name, value.trim());
    if (problem !== undefined) throw new Error(`${file}, line ${index + 1}: ${problem}`);
    return [[name.toLowerCase(), value.trim()]];
  });
  return Object.fromEntries(fields);
}
