import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { DescFile } from "@bufbuild/protobuf";
import { beforeAll } from "vitest";
import { nodeOfSources, startServer } from "../../../gateway/test/runtimes/server-process.ts";
import { descriptorSetOf } from "../../../gateway/test/support/descriptor-set.ts";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { environment } from "../../../gateway/test/support/tool.ts";
import { patienceMs, within } from "../../../gateway/test/support/within.ts";
import { runInProcess } from "../../../kit/test/support/run-in-process.ts";
import { runCommand as run } from "../../src/cli/program.ts";

/** The first file of the command: of the bundle of a test run, or of the sources. */
const bundles = process.env["PLANT_STORE_TEST_PROGRAMS"];
export const main =
  bundles === undefined
    ? join(import.meta.dirname, "../../src/cli/main.ts")
    : join(bundles, "packages/proxy/src/cli/main.js");

export interface Ended {
  readonly exitCode: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command that ends by itself. */
export async function runCommand(args: readonly string[], cwd: string): Promise<Ended> {
  const { code, ...output } = await within("its end", runInProcess(run, args, { cwd }));
  return { exitCode: code, ...output };
}

/** A command that serves unless something stops it, in its own process. */
export function runProcess(args: readonly string[], cwd: string): Promise<Ended> {
  return new Promise((resolve) => {
    const options = { cwd, env: environment, timeout: patienceMs };
    const [node, ...condition] = nodeOfSources;
    execFile(node, [...condition, main, ...args], options, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

/**
 * A folder for the tests of a file, with the descriptors of these protos in `services.binpb`, and the
 * command in it.
 */
export function useFolder(...protos: readonly DescFile[]) {
  const here = {
    path: "",
    start: (...args: readonly string[]) => startCommand(args, here.path),
    run: (...args: readonly string[]) => runCommand(args, here.path),
  };
  beforeAll(async () => {
    const folder = await createTemporaryFolder();
    here.path = folder.path;
    if (protos.length > 0)
      await writeFile(join(here.path, "services.binpb"), descriptorSetOf(...protos));
    return () => folder[Symbol.asyncDispose]();
  });
  return here;
}

/** Starts the command on a free port. */
export async function startCommand(
  args: readonly string[],
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
) {
  const line = [...nodeOfSources, main, ...args, "--port", "0"];
  const server = await startServer(line, cwd, variables);
  const origin = `http://127.0.0.1:${server.port}`;
  let metricsUrl = "";
  return {
    ...{ ...server, origin },
    /** Waits until it serves calls. */
    ready: () => until(200, `${origin}/readyz`),
    /** With `--admin-port 0`. */
    async readMetrics() {
      if (metricsUrl === "")
        metricsUrl = /^metrics on (http:.*)$/.exec(await server.nextLine())?.[1] ?? "";
      return await (await fetch(metricsUrl)).text();
    },
  };
}

/** Posts JSON. */
export const post = (url: string, body: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });

/** Asks until the answer has the status. */
export async function until(status: number, url: string): Promise<Response> {
  const signal = AbortSignal.timeout(patienceMs);
  for (;;) {
    const response = await fetch(url, { signal });
    if (response.status === status) return response;
    await response.body?.cancel();
    await delay(20);
  }
}
