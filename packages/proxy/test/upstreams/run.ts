/**
 * The command before gRPC servers in other languages: the cases of REST and of MCP, by descriptor
 * set and by reflection. `node packages/proxy/test/upstreams/run.ts [NAME ...]`. A server
 * whose toolchain cannot be had is skipped.
 */
import { execFile } from "node:child_process";
import { cp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { nodeOfSources, startServer } from "../../../gateway/test/runtimes/server-process.ts";
import { createTally } from "../../../gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { runTool } from "../../../gateway/test/support/tool.ts";
import { type UpstreamProgram, upstreamPrograms } from "./upstreams.ts";

const root = join(import.meta.dirname, "../../../..");
const suites = ["catalog", "tools"].map((name) => `packages/proxy/test/${name}.test.ts`);
const proto = "packages/gateway/test/proto/library/v1/catalog.proto";
const command = join(root, "packages/proxy/src/cli/main.ts");

const wanted = process.argv.slice(2);

using tally = createTally("upstreams");
await using folder = await createTemporaryFolder();
const image = join(folder.path, "catalog.binpb");
const config = ["--config", "packages/gateway/test/buf.workspace.yaml"];
await runTool(root, ["buf", "build", ...config, "--path", proto, "--output", image]);
for (const program of upstreamPrograms) {
  if (wanted.length > 0 && !wanted.includes(program.name)) continue;
  await tally.add(program.name, () => tryUpstream(program));
}

async function tryUpstream(program: UpstreamProgram): Promise<string> {
  const own = join(folder.path, program.name);
  const source = join(import.meta.dirname, program.name);
  await cp(source, own, { recursive: true, filter: (path) => path !== join(source, "target") });
  await cp(image, join(own, "catalog.binpb"));
  await cp(join(root, proto), join(own, "proto/library/v1/catalog.proto"));
  await using upstream = await startServer(await program.prepare(own), own);
  const url = `http://127.0.0.1:${upstream.port}`;
  await using stack = new AsyncDisposableStack();
  const origins: [how: string, origin: string][] = [];
  for (const services of [["--descriptors", "catalog.binpb"], ["--reflection"]]) {
    const args = ["--upstream", url, ...services, "--mcp", "--port", "0"];
    const server = stack.use(await startServer([...nodeOfSources, command, ...args], own));
    const origin = `http://127.0.0.1:${server.port}`;
    const signal = AbortSignal.timeout(20_000);
    // The services of a reflection, and the health of the upstream, are known soon.
    while ((await fetch(`${origin}/readyz`, { signal })).status !== 200);
    origins.push([`by ${services[0]}`, origin]);
  }
  return judge(await runSuite(origins, join(own, "results.json")));
}

interface Result {
  readonly fullName: string;
  readonly status: "passed" | "failed" | "skipped";
  readonly failureMessages: readonly string[];
}

type TestFile = { readonly assertionResults: readonly Result[]; readonly message: string };

async function runSuite(
  origins: readonly (readonly [how: string, origin: string])[],
  file: string,
): Promise<readonly Result[]> {
  const options = ["--no-file-parallelism", "--project", "shared"];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...suites, ...options];
  const reporter = ["--reporter", "json", "--outputFile", file];
  const env = { ...process.env, CATALOG_ORIGINS: JSON.stringify(origins) };
  // It fails where a case does; which ones did is in the file.
  await promisify(execFile)(process.execPath, [...vitest, ...reporter], { cwd: root, env }).catch(
    () => {},
  );
  const { testResults } = JSON.parse(await readFile(file, "utf8"));
  return testResults.flatMap(({ assertionResults, message }: TestFile) => {
    if (assertionResults.length === 0) throw new Error(`no case ran: ${message}`);
    return assertionResults;
  });
}

function judge(results: readonly Result[]): string {
  const wrong = results.filter(({ status }) => status !== "passed");
  if (wrong.length > 0) {
    const said = wrong.map(({ status, fullName }) => `${status}: ${fullName}`);
    const why = wrong.flatMap(({ failureMessages }) => failureMessages);
    throw new Error([...said, ...why].join("\n"));
  }
  return `${results.length} cases`;
}
