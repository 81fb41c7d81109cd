/**
 * The command line of MCP's inspector calls tools: `create_plant`, and those of the catalog in
 * process and through the command. Each result is what REST answers afterwards. By standard input and
 * output, both commands are called by the inspector and by the official client in Python. Brings both
 * from their registries, and is skipped without them.
 */
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createMcp } from "connect-gateway/mcp";
import { install } from "../../packages/gateway/test/runtimes/project.ts";
import { nodeOfSources, startServer } from "../../packages/gateway/test/runtimes/server-process.ts";
import { CatalogService, openCatalog } from "../../packages/gateway/test/support/catalog.ts";
import { createVenv } from "../../packages/gateway/test/support/python-venv.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { runTool } from "../../packages/gateway/test/support/tool.ts";
import { authorization, postPlant } from "../support/plant-request.ts";
import { openTestServer } from "../support/test-server.ts";

const root = resolve(import.meta.dirname, "../..");
const parent = "shelves/inspected";
const id = "9007199254740993";
const name = `${parent}/volumes/${id}`;
const path = `/v1/${name}`;

const volumes = `/v1/${parent}/volumes`;
const update = { volume: { name, title: "Persuasion" }, updateMask: "title" };

/** The path is that of what REST has then. */
type Row = readonly [tool: string, args: object, path: string, result?: (rest: unknown) => object];
const rows: readonly Row[] = [
  ["create_volume", { parent, volume: { id, title: "Emma" } }, path],
  ["get_volume", { name }, path],
  ["list_volumes", { parent }, volumes],
  ["update_volume", update, path],
  ["watch_volumes", { parent }, path, (volume) => ({ messages: [volume], truncated: false })],
  ["delete_volume", { name }, path, () => ({})],
];

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

const mcp = createMcp({ tools: [CatalogService.typeName] });
const catalog = await openCatalog({ mcp });
await callAll("in process", catalog.origin("1.1"));
const image = join(folder.path, "catalog.binpb");
const config = ["--config", "packages/gateway/test/buf.workspace.yaml"];
const proto = ["--path", "packages/gateway/test/proto/library/v1/catalog.proto"];
await runTool(root, ["buf", "build", ...config, ...proto, "--output", image]);
{
  const command = [...nodeOfSources, join(root, "packages/proxy/src/cli/main.ts")] as const;
  const started = ["--upstream", catalog.origin("2"), "--descriptors", image, "--mcp", "--stdio"];
  await callByStdio([...command, ...started], "create_volume", {
    parent,
    volume: { id, title: "Emma" },
  });
  const args = ["--upstream", catalog.origin("2"), "--descriptors", image, "--mcp", "--port", "0"];
  await using proxy = await startServer([...command, ...args], folder.path);
  await callAll("through the command", `http://127.0.0.1:${proxy.port}`);
}
await catalog[Symbol.asyncDispose]();

const store = await openTestServer({ mcp: true });
const plant = { id, name: "Basil", tag: "herb" };
const created = await call(store.url, "create_plant", { plant }, `authorization: ${authorization}`);
const rest = await postPlant(store.url, { body: JSON.stringify(plant) });
assert.deepEqual(created, { plant: JSON.parse(rest.body.toString()) });
await store.close();
const stored = ["mcp", "--store", `sqlite:${join(folder.path, "plants.db")}`];
await callByStdio([...nodeOfSources, join(root, "src/cli/main.ts"), ...stored], "create_plant", {
  plant,
});
process.stdout.write(`inspector: ${2 * rows.length + 5} calls passed\n`);

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

async function callAll(how: string, origin: string): Promise<void> {
  for (const [tool, args, at, result = (json: unknown) => json] of rows) {
    const structured = await call(origin, tool, args);
    assert.deepEqual(structured, result(await (await fetch(origin + at)).json()), tool);
    process.stdout.write(`passed ${tool} ${how}\n`);
  }
}

/** @returns the structured content. */
async function call(origin: string, tool: string, args: object, header = ""): Promise<unknown> {
  const output = await runTool(folder.path, [
    ...([process.execPath, inspector, "--cli", `${origin}/mcp`, "--transport", "http"] as const),
    ...["--method", "tools/call", "--tool-name", tool],
    ...argumentsOf(args),
    ...(header === "" ? [] : ["--header", header]),
  ]);
  return JSON.parse(output).structuredContent;
}
