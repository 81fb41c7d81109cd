/**
 * Builds `dist/` of the packages: modules and declarations for those who import them, the programs
 * as bundles, and the files that they need.
 */
import { execFileSync } from "node:child_process";
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "./bundle.ts";
import { collectLicenses } from "./supply/licenses.ts";
import { createSbom } from "./supply/sbom.ts";

// In this order: each is compiled against the published form of those before.
for (const folder of ["packages/gateway", "packages/proxy", "."]) {
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  execFileSync("tsc", ["--project", join(folder, "tsconfig.build.json")], { stdio: "inherit" });
}
const programs = {
  ".": ["src/cli/main", "src/store/sqlite/worker"],
  "packages/proxy": ["src/cli/main"],
};
for (const [root, entries] of Object.entries(programs)) {
  const licenses = collectLicenses(await bundleProgram(root, entries));
  writeFileSync(join(root, "dist/licenses.txt"), licenses);
}
// Neither copies files other than TypeScript.
for (const file of globSync("src/**/*.{sql,html,css,js,svg}")) cpSync(file, join("dist", file));
cpSync("gen/openapi.json", "dist/gen/openapi.json");
cpSync("gen/plantstore.binpb", "dist/gen/plantstore.binpb");

const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));
const sbom = createSbom(read("package.json"), read("package-lock.json"));
writeFileSync("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
