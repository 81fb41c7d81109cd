import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";

const file = findPackageJSON("..", import.meta.url);
const packageJson = file === undefined ? {} : JSON.parse(readFileSync(file, "utf8"));

export const version: string = packageJson.version ?? "unknown";
