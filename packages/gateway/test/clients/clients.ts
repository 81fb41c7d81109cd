/** Generators of clients, each with a program that calls with what it generates. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { install } from "../runtimes/project.ts";
import { createVenv } from "../support/python-venv.ts";
import { fetchTool, runTool } from "../support/tool.ts";

export interface Client {
  /** Also the folder of its program. */
  readonly name: string;
  /**
   * Generates the client beside its program, a copy of which the folder holds.
   *
   * @returns the command that calls.
   * @throws {Unavailable}
   */
  prepare(folder: string, document: string): Promise<readonly [string, ...string[]]>;
}

export const clients: readonly Client[] = [
  {
    name: "typescript",
    async prepare(folder, document) {
      await install(folder, []);
      const bin = (name: string) => join(folder, "node_modules", name);
      const generator = bin("openapi-typescript/bin/cli.js");
      await runTool(folder, [process.execPath, generator, document, "--output", "catalog.d.ts"]);
      await runTool(folder, [process.execPath, bin("typescript/bin/tsc"), "--project", "."]);
      return [process.execPath, "calls.ts"];
    },
  },
  {
    name: "hey-api",
    async prepare(folder, document) {
      const args = ["-i", document, "-o", "client", "-c", "@hey-api/client-fetch"];
      return compileTypeScript(folder, ["@hey-api/openapi-ts/bin/run.js", ...args]);
    },
  },
  {
    name: "orval",
    async prepare(folder, document) {
      const args = ["--input", document, "--output", "client.ts", "--client", "fetch"];
      return compileTypeScript(folder, ["orval/dist/bin/orval.mjs", ...args]);
    },
  },
  {
    name: "go",
    async prepare(folder, document) {
      await fetchTool(folder, ["go", "mod", "download"]);
      const config = ["-config", "oapi-codegen.yaml"];
      await runTool(folder, ["go", "tool", "oapi-codegen", ...config, document]);
      await runTool(folder, ["go", "build", "-o", "calls", "."]);
      return [join(folder, "calls")];
    },
  },
  {
    name: "python",
    async prepare(folder, document) {
      const bin = await createVenv(folder, "requirements.txt");
      const output = ["--output-path", "catalog", "--meta", "none"];
      const generator = join(bin, "openapi-python-client");
      await runTool(folder, [generator, "generate", "--path", document, ...output]);
      return [join(bin, "python"), "calls.py"];
    },
  },
  {
    name: "java",
    async prepare(folder, document) {
      const maven = ["mvn", "--quiet", "--batch-mode", "-Dstyle.color=never"] as const;
      await fetchTool(folder, [...maven, "dependency:copy", `-Dartifact=${javaGenerator}`]);
      const names = "invokerPackage=catalog,apiPackage=catalog.api,modelPackage=catalog.model";
      const args = ["generate", "-g", "java", "-i", document, "-o", "."];
      const generator = ["java", "-jar", "openapi-generator-cli.jar"] as const;
      await runTool(folder, [...generator, ...args, `--additional-properties=${names}`]);
      await runTool(folder, [...maven, "compile", "dependency:build-classpath"]);
      const classpath = await readFile(join(folder, "classpath"), "utf8");
      return ["java", "-cp", `target/classes:${classpath}`, "catalog.Calls"];
    },
  },
];

const javaGenerator = "org.openapitools:openapi-generator-cli:7.25.0:jar";

/** What generates TypeScript that imports without extensions is compiled to CommonJS. */
async function compileTypeScript(
  folder: string,
  [generator = "", ...args]: readonly string[],
): Promise<readonly [string, ...string[]]> {
  await install(folder, []);
  const bin = (name: string) => join(folder, "node_modules", name);
  await runTool(folder, [process.execPath, bin(generator), ...args]);
  await runTool(folder, [process.execPath, bin("typescript/bin/tsc"), "--project", "."]);
  return [process.execPath, "out/calls.js"];
}
