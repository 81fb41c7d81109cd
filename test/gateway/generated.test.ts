import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
const folder = "test/gateway";

/** From the root of the repository; with `--output` left out, this is how gen/ is made. */
const generate = [
  ...["generate", "--clean", "--config", `${folder}/buf.workspace.yaml`],
  ...["--template", `${folder}/buf.gen.yaml`],
];

test("gen/ is what buf generates from proto/", async () => {
  const output = await mkdtemp(join(tmpdir(), "gateway-gen-"));
  try {
    const bin = join(root, "node_modules/.bin");
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    const arguments_ = [...generate, "--output", output];
    await promisify(execFile)(join(bin, "buf"), arguments_, { cwd: root, env });
    expect(sourcesIn(join(root, folder, "gen"))).toEqual(sourcesIn(join(output, folder, "gen")));
  } finally {
    await rm(output, { recursive: true });
  }
});

function sourcesIn(directory: string): Record<string, string> {
  const files = globSync("**/*.ts", { cwd: directory }).toSorted();
  return Object.fromEntries(
    files.map((file) => [file, readFileSync(join(directory, file), "utf8")]),
  );
}
