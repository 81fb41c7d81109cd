/**
 * The command line of MCP's inspector calls tools: `create_plant`, and those of the catalog in
 * process and through the command. Each result is what REST answers afterwards. Brings the inspector
 * from its registry, and is skipped without it.
 */
import assert from "node:assert/strict";
import { cp } from "node:fs/promises";
import { join, resolve } from "node:path";
import { createMcp } from "connect-gateway/mcp";
import { install } from "../../packages/gateway/test/runtimes/project.ts";
import { nodeOfSources, startServer } from "../../packages/gateway/test/runtimes/server-process.ts";
import { CatalogService, openCatalog } from "../../packages/gateway/test/support/catalog.ts";
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
try {
  await install(folder.path, []);
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
  const command = [...nodeOfSources, join(root, "packages/proxy/src/cli/main.ts")];
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
process.stdout.write(`inspector: ${2 * rows.length + 1} calls passed\n`);

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
    ...Object.entries(args).flatMap(([key, one]) => [
      "--tool-arg",
      `${key}=${JSON.stringify(one)}`,
    ]),
    ...(header === "" ? [] : ["--header", header]),
  ]);
  return JSON.parse(output).structuredContent;
}
