/** Makes `dist/`: the JavaScript and declarations that are published. */
import { execFileSync } from "node:child_process";
import { cpSync, globSync, rmSync } from "node:fs";
import { join } from "node:path";

rmSync("dist", { recursive: true, force: true });
execFileSync("tsc", ["--project", "tsconfig.build.json"], { stdio: "inherit" });
// tsc leaves out what is not TypeScript.
for (const file of globSync("src/**/*.sql")) cpSync(file, join("dist", file));
