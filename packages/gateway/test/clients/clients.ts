/** Generators of clients, each with a program that calls with what it generates. */
import { join } from "node:path";
import { install } from "../runtimes/project.ts";
import { createVenv } from "../support/python-venv.ts";
import { fetchTool, runTool, Unavailable } from "../support/tool.ts";

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
      await install(folder, []).catch((reason: unknown) => {
        throw new Unavailable(String(reason));
      });
      const bin = (name: string) => join(folder, "node_modules", name);
      const generator = bin("openapi-typescript/bin/cli.js");
      await runTool(folder, [process.execPath, generator, document, "--output", "catalog.d.ts"]);
      await runTool(folder, [process.execPath, bin("typescript/bin/tsc"), "--project", "."]);
      return [process.execPath, "calls.ts"];
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
];
