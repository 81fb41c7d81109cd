import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { isDeepStrictEqual, stripVTControlCharacters } from "node:util";
import { spawnServer } from "../support/child-server.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { openLossyProxy } from "./lossy-proxy.ts";
import { runLine } from "./shell.ts";

export interface Example {
  /** The folder of it in `examples/`. */
  readonly name: string;
  /** A line that succeeds where the toolchain is. */
  readonly toolchain: string;
  /** What it has to print. */
  readonly prints: string;
  /** In place of the run line of its README. */
  readonly run?: string;
}

export type Verdict =
  | { readonly kind: "passed" }
  | { readonly kind: "skipped" | "failed"; readonly reason: string };

/** The first time, a toolchain downloads and compiles what the example depends on. */
const setUpTimeoutMs = 900_000;
const runTimeoutMs = 60_000;
const toolchainTimeoutMs = 30_000;

/** What every example asks to be stored; each prints it and the refusals of two others. */
const basil = { id: 9007199254740993n, name: "Basil", tag: "herb" };

/** Sets an example up and runs it as its README says, on a way on which two answers are lost. */
export async function tryExample({ name, toolchain, prints, run }: Example): Promise<Verdict> {
  const cwd = resolve(import.meta.dirname, "../../examples", name);
  const found = await runLine(toolchain, { cwd, timeoutMs: toolchainTimeoutMs });
  if (found.problem !== undefined) {
    return { kind: "skipped", reason: `not on this machine: ${toolchain}` };
  }
  const readme = commandsOf(await readFile(join(cwd, "README.md"), "utf8"));
  const setUp = await runLine(readme.setUp, { cwd, timeoutMs: setUpTimeoutMs });
  if (setUp.problem !== undefined) {
    const output = setUp.stdout + setUp.stderr;
    const line = output.split("\n").find((text) => networkIsMissing.test(text));
    if (line !== undefined) return { kind: "skipped", reason: `no registry: ${line.trim()}` };
    return { kind: "failed", reason: `set-up: ${setUp.problem}\n${output}` };
  }
  return runExample(cwd, run ?? readme.run, prints);
}

async function runExample(cwd: string, line: string, prints: string): Promise<Verdict> {
  await using server = await spawnServer();
  await using proxy = await openLossyProxy(server.port, ["hold", "cut"]);
  const env = { PLANT_STORE_URL: proxy.url, PLANT_STORE_TOKEN: knownToken };
  const { problem, stdout, stderr } = await runLine(line, { cwd, env, timeoutMs: runTimeoutMs });
  const stored = readStoredPlants(server.database);
  const wrong = [
    problem,
    // Maven resets colours that it did not set.
    stripVTControlCharacters(stdout) === prints
      ? undefined
      : `it printed ${JSON.stringify(stdout)}`,
    proxy.fatesLeft.length === 0 ? undefined : `never came to: ${proxy.fatesLeft.join(", ")}`,
    isDeepStrictEqual(stored, [storedForm(basil)])
      ? undefined
      : `${stored.length} plants, or another one`,
  ].filter((text) => text !== undefined);
  if (wrong.length === 0) return { kind: "passed" };
  return { kind: "failed", reason: `${wrong.join("; ")}\n${stderr}` };
}

/** The commands of an example: the two lines of the first block in its README. */
function commandsOf(readme: string): { readonly setUp: string; readonly run: string } {
  const [, block = ""] = /```sh\n(.*?)```/s.exec(readme) ?? [];
  const [setUp, run, ...more] = block.replaceAll("\\\n", "").trim().split("\n");
  if (setUp === undefined || run === undefined || more.length > 0) {
    throw new Error("the first block of the README is not a line to set up and a line to run");
  }
  return { setUp, run };
}

/** How package clients and resolvers say that nobody answered. */
const networkIsMissing = new RegExp(
  [
    ...["could ?n[o']t resolve", "name resolution", "no such host", "unknown host"],
    ...["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH"],
    ...["connection refused", "could ?n[o']t connect", "network is unreachable"],
    ...["failed to establish a new connection", "connect(ion)? timed out", "i/o timeout"],
  ].join("|"),
  "i",
);
