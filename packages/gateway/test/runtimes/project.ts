/** A user's project in which the packed gateway and its peers are installed. */
import { cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fetchTool, runTool } from "../support/tool.ts";

const root = resolve(import.meta.dirname, "../../../..");

/** @returns the directory of its programs. */
export async function createProject(folder: string): Promise<string> {
  await mkdir(folder);
  await runTool(root, ["npm", "run", "pack", "--", folder]);
  const tarball = (await readdir(folder)).find((name) => /^connect-gateway-\d/.test(name));
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  await install(folder, [`./${tarball}`, ...(await peers())]);
  // The same directories as here, so that generated code finds its imports.
  const gateway = join(root, "packages/gateway");
  for (const path of ["gen", "test/gen", "test/runtimes/programs"]) {
    await cp(join(gateway, path), join(folder, path), { recursive: true });
  }
  return join(folder, "test/runtimes/programs");
}

/** @throws {Unavailable} */
export async function install(folder: string, packages: readonly string[]): Promise<void> {
  const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
  const all = [...options, "--loglevel=error", "--prefix", folder, ...packages];
  await fetchTool(folder, ["npm", "install", ...all]);
}

/** The versions with which the gateway is developed. */
async function peers(): Promise<readonly string[]> {
  const read = async (path: string) => JSON.parse(await readFile(join(root, path), "utf8"));
  const { peerDependencies } = await read("packages/gateway/package.json");
  const { dependencies } = await read("package.json");
  return Object.keys(peerDependencies).map((name) => `${name}@${dependencies[name]}`);
}
