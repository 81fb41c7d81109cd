/** Fails if an installation could differ from what was tested, or run code of others. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { findInstallCode } from "./supply/install-code.ts";
import { findProductionPackages, type Lock } from "./supply/lock.ts";
import { findSupplyProblems, type Manifest } from "./supply/rules.ts";

const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const paths = execFileSync("git", ["ls-files", "*package.json"], { encoding: "utf8" });
const manifests = paths
  .trim()
  .split("\n")
  .map((path): Manifest => ({ path, ...JSON.parse(readFileSync(path, "utf8")) }));

const installCode = findProductionPackages(lock).flatMap(({ path }) =>
  findInstallCode(path).map((what) => `${path}: runs code when it is installed (${what})`),
);

for (const problem of [...findSupplyProblems(lock, manifests), ...installCode]) {
  console.error(problem);
  process.exitCode = 1;
}
