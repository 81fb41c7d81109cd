import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { install } from "../../../packages/gateway/test/runtimes/project.ts";

/** Of other folders, which say something of a request or its answer. */
const ofRequests = [
  ...["adapter/*", "rest/*"],
  ...["call", "deadline", "endpoint", "protocols", "rule-violations"].map((name) => `rpc/${name}`),
  ...["continue", "half-close", "http1"].map((name) => `server/${name}`),
];

/** What is changed, and the tests that should see it. */
const folders: Readonly<Record<string, readonly [sources: string, ...tests: string[]]>> = {
  auth: ["packages/kit/src/auth", "packages/kit/test/auth/**/*.test.ts"],
  store: [
    "src/store",
    "test/store/**/*.test.ts",
    ...["backup", "check", "copy", "migrate"].map((name) => `test/cli/${name}.test.ts`),
  ],
  rpc: gateway("rpc", "client/unary", "differential/*", "health/*", "reflection/*", ...ofRequests),
  http: gateway("http", "body-budget", "broken-off", ...ofRequests),
  client: gateway("client"),
};

function gateway(name: string, ...tests: readonly string[]): [string, ...string[]] {
  const files = [`${name}/**/*`, ...tests].map((test) => `packages/gateway/test/${test}.test.ts`);
  return [`packages/gateway/src/${name}`, ...files];
}

/**
 * Changes each expression of a folder in turn, by Stryker, and runs the tests that reach it.
 *
 * @param what A folder, or files of it: `auth`, `auth/jwks.ts`, `store/sqlite/*.ts`.
 * @returns the exit code.
 */
export async function mutateFolder(what: string): Promise<number> {
  const [name = "", ...files] = what.split("/");
  const found = folders[name];
  if (found === undefined) {
    process.stderr.write(`--broad must begin with ${Object.keys(folders).join(", ")}: ${what}\n`);
    return 2;
  }
  const [sources, ...tests] = found;
  const mutated = `${sources}/${files.length === 0 ? "**/*.ts" : files.join("/")}`;
  const folder = "test/faults/mutants";
  // Its 137 packages are for this alone. Vitest is that of the tests.
  await install(resolve(folder), ["--omit=peer"]);
  const stryker = `${folder}/node_modules/@stryker-mutator/core/bin/stryker.js`;
  const config = `${folder}/stryker.config.js`;
  const child = spawn(process.execPath, [stryker, "run", config, "--mutate", mutated], {
    stdio: "inherit",
    env: { ...process.env, MUTANTS_TESTS: tests.join() },
  });
  const [code] = await once(child, "exit");
  return Number(code ?? 1);
}
