/**
 * The command line of MCP's inspector creates a plant over HTTP. By standard input and output, it and
 * the official client in Python call both commands. Brings both from their registries, and is skipped
 * without them. tools.test.ts of the proxy has every tool.
 */
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { install } from "../../packages/gateway/test/runtimes/project.ts";
import { nodeOfSources } from "../../packages/gateway/test/runtimes/server-process.ts";
import { openCatalog } from "../../packages/gateway/test/support/catalog.ts";
import { createVenv } from "../../packages/gateway/test/support/python-venv.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runTool } from "../../packages/gateway/test/support/tool.ts";
import { authorization, postPlant } from "../support/plant-request.ts";
import { openTestServer } from "../support/test-server.ts";

const root = resolve(import.meta.dirname, "../..");
const id = "9007199254740993";

await using folder = await createTemporaryFolder();
await cp(join(import.meta.dirname, "package.json"), join(folder.path, "package.json"));
let venv: string;
try {
  await install(folder.path, []);
  venv = await createVenv(folder.path, join(import.meta.dirname, "requirements.txt"));
} catch (error) {
  process.stdout.write(`inspector: skipped: ${error}\n`);
  process.exit(0);
}
const launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";
const inspector = join(folder.path, "node_modules", launcher);

const catalog = await openCatalog();
const image = join(folder.path, "catalog.binpb");
const config = ["--config", "packages/gateway/test/buf.workspace.yaml"];
const proto = ["--path", "packages/gateway/test/proto/library/v1/catalog.proto"];
await runTool(root, ["buf", "build", ...config, ...proto, "--output", image]);
const proxy = [...nodeOfSources, join(root, "packages/proxy/src/cli/main.ts")] as const;
const flags = ["--upstream", catalog.origin("2"), "--descriptors", image, "--mcp", "--stdio"];
await callByStdio([...proxy, ...flags], "create_volume", {
  parent: "shelves/inspected",
  volume: { id, title: "Emma" },
});
await catalog[Symbol.asyncDispose]();

const store = await openTestServer({ mcp: true });
const plant = { id, name: "Basil", tag: "herb" };
const output = await runTool(folder.path, [
  ...([process.execPath, inspector, "--cli", `${store.url}/mcp`, "--transport", "http"] as const),
  ...["--method", "tools/call", "--tool-name", "create_plant", ...argumentsOf({ plant })],
  ...["--header", `authorization: ${authorization}`],
]);
const rest = await postPlant(store.url, { body: JSON.stringify(plant) });
const { structuredContent: created } = JSON.parse(output);
assert.deepEqual(created, { plant: JSON.parse(rest.body.toString()) });
await store.close();
const stored = ["mcp", "--store", `sqlite:${join(folder.path, "plants.db")}`];
await callByStdio([...nodeOfSources, join(root, "src/cli/main.ts"), ...stored], "create_plant", {
  plant,
});
process.stdout.write("inspector: 5 calls passed\n");

/** By the inspector, and by the client in Python, whose results are the same: the tool may be retried. */
async function callByStdio(
  [command, ...args]: readonly [string, ...string[]],
  tool: string,
  values: object,
): Promise<void> {
  const server = { type: "stdio", command, args, env: {} };
  const config = join(folder.path, "mcp.json");
  await writeFile(config, JSON.stringify({ mcpServers: { own: server } }));
  const output = await runTool(folder.path, [
    ...([process.execPath, inspector, "--cli", "--config", config, "--server", "own"] as const),
    ...["--method", "tools/call", "--tool-name", tool, ...argumentsOf(values)],
  ]);
  const inPython = await runTool(folder.path, [
    join(venv, "python"),
    join(import.meta.dirname, "stdio.py"),
    ...[config, tool, JSON.stringify(values)],
  ]);
  const { structuredContent } = JSON.parse(output);
  assert.match(JSON.stringify(structuredContent), /Emma|Basil/);
  assert.deepEqual(JSON.parse(inPython), structuredContent);
  process.stdout.write(`passed ${tool} by standard input and output\n`);
}

function argumentsOf(values: object): string[] {
  return Object.entries(values).flatMap(([key, one]) => [
    "--tool-arg",
    `${key}=${JSON.stringify(one)}`,
  ]);
}
