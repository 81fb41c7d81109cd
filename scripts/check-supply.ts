/** Fails if an installation could differ from what was tested, or run code of others. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findInstallCode } from "./supply/install-code.ts";
import { findProductionPackages, type Lock } from "./supply/lock.ts";
import { findSupplyProblems, type Manifest } from "./supply/rules.ts";

const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const folders = ["", ...(lock.packages[""]?.workspaces ?? [])];
const manifests = folders.map((folder): Manifest => {
  const path = join(folder, "package.json");
  return { path, ...JSON.parse(readFileSync(path, "utf8")) };
});

const installCode = findProductionPackages(lock).flatMap(({ path }) =>
  findInstallCode(path).map((what) => `${path}: runs code when it is installed (${what})`),
);

for (const problem of [...findSupplyProblems(lock, manifests), ...installCode]) {
  console.error(problem);
  process.exitCode = 1;
}
