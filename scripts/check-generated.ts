/** Fails if generated code differs from the output of `npm run generate`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const fresh = mkdtempSync(join(tmpdir(), "plant-store-gen-"));
try {
  execFileSync(process.execPath, ["scripts/generate.ts", fresh], { stdio: "inherit" });
  for (const folder of ["gen", "packages/gateway/gen", "packages/gateway/test/gen"]) {
    execFileSync("git", ["diff", "--no-index", "--exit-code", folder, join(fresh, folder)], {
      stdio: "inherit",
    });
  }
} catch {
  console.error("generated code is stale: run npm run generate, and commit what it changes");
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true });
}
