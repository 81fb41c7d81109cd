/** `--stdio`: tools for programs that start their servers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http2";
import { addReflection } from "connect-gateway/reflection";
import { expect, test } from "vitest";
import { createCatalog } from "../../../gateway/test/catalog-server.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { nodeOfSources } from "../../../gateway/test/runtimes/server-process.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import { stdioClients } from "../../../gateway/test/support/mcp-client.ts";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { environment } from "../../../gateway/test/support/tool.ts";
import { patienceMs, within } from "../../../gateway/test/support/within.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { main, runCommand, runProcess, useFolder } from "./command.ts";

const [node, ...conditions] = nodeOfSources;
const here = useFolder(file_library_v1_catalog);

test.each(stdioClients)("%s calls a gRPC server, by its reflection", async (_by, connect) => {
  await using folder = await createTemporaryFolder();
  await using upstream = await openUpstream((router) => {
    router.service(CatalogService, createCatalog());
    addReflection(router);
  });
  const flags = ["--upstream", upstream.url, "--reflection", "--mcp", "--stdio"];
  const args = [...conditions, main, ...flags];
  await using client = await connect({ command: node, args, cwd: folder.path, env: {} });
  const [{ name, description } = {}] = await client.listTools();
  expect([name, description]).toEqual(["get_volume", expect.stringContaining("volume")]);
  const parent = "shelves/a";
  const volume = { id: "9007199254740993", title: "Emma" };
  const created = await client.call("create_volume", { parent, volume });
  expect(created.structuredContent).toMatchObject(volume);
  const seen = await client.call("watch_volumes", { parent });
  expect(seen.structuredContent).toMatchObject({ messages: [volume], truncated: false });
  const { isError } = await client.call("get_volume", { name: "shelves/a/volumes/none" });
  expect(isError).toBe(true);
});

test("without one of its upstreams, it ends", async () => {
  await using upstream = await openUpstream(addReflection);
  const both = [`library.v1.CatalogService=${upstream.url}`, "http://127.0.0.1:1"];
  const flags = both.flatMap((url) => ["--upstream", url]);
  const ended = await runProcess([...flags, "--reflection", "--mcp", "--stdio"], process.cwd());
  expect(ended).toMatchObject({ exitCode: 1 });
});

test.each([
  ["a call", "--descriptors=services.binpb", [0, null]],
  ["its start", "--reflection", [null, "SIGTERM"]],
])("a signal ends it during %s, if no upstream answers", async (_what, services, end) => {
  const asked = Promise.withResolvers<void>();
  await using upstream = await listen(createServer(() => asked.resolve()));
  const args = [...conditions, main, "--upstream", upstream.url, services, "--mcp", "--stdio"];
  const child = spawn(node, args, { cwd: here.path, env: environment, timeout: patienceMs });
  child.stdin.end('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_volume"}}');
  await within("the request", asked.promise);
  child.kill("SIGTERM");
  expect(await Promise.all([child.stdout.toArray(), once(child, "exit")])).toEqual([[], end]);
});

const away = ["--upstream", "http://127.0.0.1:1", "--reflection", "--stdio"];
test.each([
  ["without tools", away, 2, "--stdio needs --mcp"],
  ["without the upstream", [...away, "--mcp"], 1, "http://127.0.0.1:1: [unavailable]"],
])("it does not start %s", async (_what, args, exitCode, message) => {
  const { stdout, stderr, ...ended } = await runCommand(args, process.cwd());
  expect({ stdout, ...ended }).toEqual({ stdout: "", exitCode });
  expect(stderr).toContain(message);
});
