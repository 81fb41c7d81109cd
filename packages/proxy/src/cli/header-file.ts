/** Headers for upstreams, in files, since they may be API keys: no message shows a value. */
import { readFileSync } from "node:fs";
import { findMetadataProblem } from "../services/metadata.ts";

/** A file that is read again when told to. While it is wrong, the old headers stay. @throws {Error} */
export function openHeaderFile(file: string | undefined) {
  let headers = readHeaderFile(file);
  return {
    headers: () => headers,
    reload() {
      headers = readHeaderFile(file);
    },
  };
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
