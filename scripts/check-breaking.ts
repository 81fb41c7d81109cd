/**
 * Fails if the proto breaks a client of the last commit's proto, or of the first one. Without
 * uncommitted changes, only the comparison with the first one can fail.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const contract = "proto/plantstore/v1/plant_service.proto";

function git(...args: string[]): Buffer {
  return execFileSync("git", args, { maxBuffer: 64 * 1024 * 1024 });
}

/** Builds the proto of a commit, with today's google protos. */
function buildImage(commit: string, folder: string): string {
  const archive = join(folder, "proto.tar");
  writeFileSync(archive, git("archive", commit, "proto", "buf.yaml"));
  execFileSync("tar", ["-xf", archive, "-C", folder]);
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  const image = join(folder, "image.binpb");
  execFileSync("buf", ["build", "proto", "--output", image], { cwd: folder, stdio: "inherit" });
  return image;
}

const added = git("log", "--format=%H", "--diff-filter=A", "--", contract).toString().trim();
const first = added.split("\n").at(-1) ?? "";
const commits = new Set(["HEAD", ...(first === "" ? [] : [first])]);
for (const commit of commits) {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-breaking-"));
  try {
    const image = buildImage(commit, folder);
    execFileSync("buf", ["breaking", "proto", "--against", image], { stdio: "inherit" });
  } catch {
    console.error(`the proto breaks what clients of ${commit} rely on`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
