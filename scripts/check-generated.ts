/** Fails if `gen/` is not what `npm run generate` would write. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const fresh = mkdtempSync(join(tmpdir(), "plant-store-gen-"));
try {
  execFileSync(process.execPath, ["scripts/generate.ts", fresh], { stdio: "inherit" });
  execFileSync("git", ["diff", "--no-index", "--exit-code", "gen", join(fresh, "gen")], {
    stdio: "inherit",
  });
} catch {
  console.error("gen/ is stale: run npm run generate, and commit what it changes");
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true });
}
