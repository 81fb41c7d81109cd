/** Runs the conformance suite of the Model Context Protocol against the gateway. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { install } from "../../runtimes/project.ts";
import { server } from "./server.ts";

const here = import.meta.dirname;
const suite = join(here, "node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** Each version that is served. */
const versions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"];

/** What the gateway does not have, as its tools are methods of a service. */
const leftOut: readonly (readonly [scenarios: RegExp, reason: string])[] = [
  [/^(?:resources|prompts|completion)-/, "only tools are offered"],
  [/^(?:caching|sep-2164-)/, "they ask for resources and prompts; the tests hold the hints"],
  [/^logging-|-with-logging$/, "a service logs for its operators, not for clients"],
  [/sampling|elicitation|^input-required-/, "a method asks its caller for nothing"],
  [/^(?:tasks|sep-2640)-/, "extensions are not offered"],
  [/^tools-call-mixed-content$/, "one message is one piece of content"],
  [/^json-schema-2020-12$/, "schemas come from protos, not from JSON Schema"],
  [/^http-custom-header-server-validation$/, "no argument is mirrored in a header"],
  [/^server-sse-polling$/, "streams cannot be resumed: nothing is remembered of a client"],
];

/** Checks that need what is left out. */
const knownFailing: ReadonlySet<string> = new Set([
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
]);

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

const run = promisify(execFile);
await install(here, []);
const folder = await mkdtemp(join(tmpdir(), "mcp-conformance-"));
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
const counts = { passed: 0, failed: 0, known: 0, "left out": 0 };
try {
  for (const [name, known] of await listScenarios()) {
    if (leftOut.some(([scenarios]) => scenarios.test(name))) counts["left out"]++;
    else for (const version of known) count(`${name} ${version}`, await check(name, version));
  }
} finally {
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true });
}
const outcome = Object.entries(counts).map(([what, number]) => `${number} ${what}`);
process.stdout.write(`\nconformance of MCP: ${outcome.join(", ")}\n`);
if (counts.failed > 0 || counts.passed === 0) process.exitCode = 1;

/** Each scenario, and the versions that have it. */
async function listScenarios(): Promise<[name: string, versions: string[]][]> {
  const { stdout } = await run(process.execPath, [suite, "list", "--server"]);
  return [...stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm)].map(([, name = "", known = ""]) => [
    name,
    known.split(",").filter((version) => versions.includes(version)),
  ]);
}

/** It exits with 1 if a check fails, which its results say, too. */
async function check(scenario: string, version: string): Promise<readonly Check[]> {
  const output = join(folder, `${scenario}-${version}`);
  const url = `http://localhost:${port}/mcp`;
  const chosen = ["--scenario", scenario, "--spec-version", version, "--url", url];
  const args = [suite, "server", ...chosen, "--output-dir", output];
  const failed = await run(process.execPath, args).catch((error: Error) => error);
  const [file] = globSync("**/checks.json", { cwd: output });
  if (file === undefined) throw new Error(`${scenario} has no result`, { cause: failed });
  return JSON.parse(readFileSync(join(output, file), "utf8"));
}

function count(where: string, checks: readonly Check[]): void {
  for (const { id, status, errorMessage } of checks) {
    if (status === "SUCCESS") counts.passed++;
    if (status !== "FAILURE") continue;
    if (knownFailing.has(id)) {
      counts.known++;
      continue;
    }
    counts.failed++;
    process.stdout.write(`${where}: ${id}: ${errorMessage}\n`);
  }
}
