/**
 * Builds `dist/` of the packages: modules and declarations for those who import them, the programs
 * as bundles, and the files that they need.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram, copyAssets, copyProtos, programs } from "./bundle.ts";
import { collectLicenses } from "./supply/licenses.ts";
import { createSbom } from "./supply/sbom.ts";

// In this order: each is compiled against the published form of those before.
for (const folder of ["packages/gateway", "packages/proxy", "."]) {
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  execFileSync("tsc", ["--project", join(folder, "tsconfig.build.json")], { stdio: "inherit" });
}
for (const [root, entries] of Object.entries(programs)) {
  const folder = join(root, "dist");
  const licenses = collectLicenses(await bundleProgram(root, folder, entries));
  writeFileSync(join(folder, "licenses.txt"), licenses);
}
// Neither copies files other than TypeScript.
copyAssets("dist");
copyProtos("packages/gateway/dist");

const read = (file: string) => JSON.parse(readFileSync(file, "utf8"));
const sbom = createSbom(read("package.json"), read("package-lock.json"));
writeFileSync("dist/sbom.cdx.json", `${JSON.stringify(sbom, null, 2)}\n`);
