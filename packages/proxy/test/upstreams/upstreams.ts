/** Servers of the catalog on gRPC in other languages. None of them knows REST. */
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createVenv } from "../../../gateway/test/support/python-venv.ts";
import { fetchTool, runTool } from "../../../gateway/test/support/tool.ts";

export interface UpstreamProgram {
  /** Also the folder of its program. */
  readonly name: string;
  /**
   * Generates the stubs and builds, in a folder that holds a copy of the program, `catalog.binpb`, an
   * image of Buf that has the proto and its imports, and `proto/`, which has the proto alone.
   *
   * @returns the command that serves.
   * @throws {Unavailable}
   */
  prepare(folder: string): Promise<readonly [string, ...string[]]>;
}

export const upstreamPrograms: readonly UpstreamProgram[] = [
  {
    name: "go",
    async prepare(folder) {
      await fetchTool(folder, ["go", "mod", "download"]);
      await runTool(folder, ["buf", "generate", "catalog.binpb"]);
      await runTool(folder, ["go", "build", "-o", "catalog", "."]);
      return [join(folder, "catalog")];
    },
  },
  {
    name: "python",
    async prepare(folder) {
      const python = join(await createVenv(folder, "requirements.txt"), "python");
      const output = ["--python_out=.", "--grpc_python_out=."];
      const proto = ["--descriptor_set_in=catalog.binpb", "library/v1/catalog.proto"];
      await runTool(folder, [python, "-m", "grpc_tools.protoc", ...output, ...proto]);
      return [python, "catalog.py"];
    },
  },
  {
    name: "java",
    async prepare(folder) {
      const maven = ["mvn", "--quiet", "--batch-mode", "-Dstyle.color=never"] as const;
      await fetchTool(folder, ["mvn", "-version"]);
      await runTool(folder, [...maven, "compile", "dependency:build-classpath"]);
      const classpath = await readFile(join(folder, "classpath"), "utf8");
      return ["java", "-cp", `target/classes:${classpath}`, "catalog.Server"];
    },
  },
  {
    name: "rust",
    async prepare(folder) {
      await fetchTool(folder, ["cargo", "fetch"]);
      // What is compiled of the packages is kept for the next run.
      const target = join(import.meta.dirname, "rust/target");
      await runTool(folder, ["cargo", "build", "--quiet", "--target-dir", target]);
      await cp(join(target, "debug/catalog"), join(folder, "catalog"));
      return [join(folder, "catalog")];
    },
  },
];
