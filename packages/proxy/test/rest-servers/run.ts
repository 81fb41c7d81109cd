/**
 * REST servers of others: `npm run test:rest-servers`. `createRestTransport` before grpc-gateway and
 * vanguard-go, in front of a gRPC server in Go: each call must answer what the gRPC server itself
 * does. And the command before a FastAPI server. Skipped where Go, Python or Chromium cannot be had.
 */
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { createRestTransport } from "connect-gateway/rest";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { startServer } from "../../../gateway/test/runtimes/server-process.ts";
import { collect } from "../../../gateway/test/support/collect.ts";
import { createTemporaryFolder } from "../../../gateway/test/support/temporary-folder.ts";
import { fetchTool, runTool, Unavailable } from "../../../gateway/test/support/tool.ts";
import { tryFastApi } from "./fastapi.ts";

type Catalog = Client<typeof CatalogService>;

/** A server may cut a body in other pieces. */
async function bytesOf(messages: ReturnType<Catalog["streamVolume"]>): Promise<string> {
  return Buffer.concat((await collect(messages)).map(({ data }) => data)).toString("base64");
}

const parent = "shelves/a";
const id = 9007199254740993n;
const name = `${parent}/volumes/${id}`;
const text = { contentType: "text/x", data: new Uint8Array(3000).fill(7) };

const rows: readonly (readonly [what: string, call: (catalog: Catalog) => Promise<unknown>])[] = [
  [
    "body field, and a flag in the query",
    (one) => one.createVolume({ parent, volume: { id, title: "é\u2028" }, validateOnly: true }),
  ],
  ["body field that is not set", (one) => one.createVolume({ parent: "shelves/none" })],
  ["path of several segments", (one) => one.getVolume({ name })],
  ["path of several segments, a query beside it", (one) => one.getVolume({ name, id: 5n })],
  ["int64 in a path, exactly", (one) => one.getVolume({ id })],
  ["int64 below zero", (one) => one.getVolume({ id: -(2n ** 63n) })],
  ["signs in a segment", (one) => one.getVolume({ name: `${parent}/volumes/é ?#&=+;@` })],
  ["%2F in a segment of several", (one) => one.getVolume({ name: `${parent}/volumes/x%2Fy` })],
  ["slashes in **", (one) => one.readFile({ path: "a/b c/é" })],
  ["a colon in a segment", (one) => one.getVolume({ name: `${parent}/volumes/a:b` })],
  ["a percent sign", (one) => one.getVolume({ name: `${parent}/volumes/5%` })],
  ["%2F in **", (one) => one.readFile({ path: "a%2Fb" })],
  ["nothing in **", (one) => one.readFile({ path: "" })],
  [
    "query: repeated text, and a number",
    (one) => one.listVolumes({ parent, pageSize: 3, titles: ["a+b&c=d", "é\u2028"] }),
  ],
  [
    "mask, and a body field that the path is in",
    (one) =>
      one.updateVolume({ volume: { name, id, title: "new" }, updateMask: { paths: ["title"] } }),
  ],
  ["body *, and a verb", (one) => one.moveVolume({ name, to: "shelves/b" })],
  ["an error of the server", (one) => one.getVolume({ name: `${parent}/volumes/none` })],
  ["a stream", (one) => collect(one.watchVolumes({ parent: "shelves/b" }))],
  ["a stream of nothing", (one) => collect(one.watchVolumes({ parent: "shelves/z" }))],
  [
    "HttpBody in the request",
    (one) => one.uploadVolume({ name: `shelves/b/volumes/${id}`, content: text }),
  ],
  ["HttpBody in the response", (one) => one.downloadVolume({ name: "shelves/t/volumes/1" })],
  ["HttpBody as a stream", (one) => bytesOf(one.streamVolume({ name: "shelves/t/volumes/1" }))],
  ["nothing as the response", (one) => one.deleteVolume({ name: `shelves/b/volumes/${id}` })],
];

/** What is known to differ, and why. */
const differences: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "grpc-gateway": {
    "body field that is not set": "it refuses null",
    "HttpBody in the request": "it reads JSON alone",
    "HttpBody as a stream": "it writes a line feed after each piece",
  },
  vanguard: {
    "body field that is not set": "it refuses null",
    "a colon in a segment": "it decodes a path before it looks for a verb",
    "%2F in a segment of several": "it decodes a path twice",
    "a percent sign": "it decodes a path twice",
    "nothing in **": "it has no such route",
    "a stream": "it has no streams of JSON",
    "a stream of nothing": "it has no streams of JSON",
  },
};

const counts = { passed: 0, differing: 0, failed: 0, skipped: 0 };
const root = join(import.meta.dirname, "../../../..");
const proto = "packages/gateway/test/proto/library/v1/catalog.proto";

await using folder = await createTemporaryFolder();
await unlessUnavailable(async () => {
  const catalog = await build("catalog", join(import.meta.dirname, "../upstreams/go"));
  // grpc-gateway has no client streams with variables in their path.
  const streams = ["ImportVolumes", "AppendVolume"].map(
    (one) => `${CatalogService.typeName}.${one}`,
  );
  const rest = await build("rest", join(import.meta.dirname, "go"), streams);
  for (const server of Object.keys(differences)) await tryServer(server, catalog, rest);
});
await unlessUnavailable(() =>
  tryFastApi(folder.path, async (what, run) => {
    const failure = await run().catch((reason: unknown) => `${reason}`);
    counts[failure === undefined ? "passed" : "failed"]++;
    if (failure !== undefined) print(`FastAPI: ${what}: ${failure}`);
  }),
);
const { passed, differing, failed, skipped } = counts;
print(
  `\nrest servers: ${passed} passed, ${differing} differ, ${failed} failed, ${skipped} skipped`,
);
if (failed > 0) process.exitCode = 1;

async function unlessUnavailable(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const outcome = error instanceof Unavailable ? "skipped" : "failed";
    counts[outcome]++;
    print(`${outcome}: ${error}`);
  }
}

/** @returns the program. @throws {Unavailable} */
async function build(what: string, source: string, excluded: string[] = []): Promise<string> {
  const own = join(folder.path, what);
  await cp(source, own, { recursive: true });
  const image = join(own, "catalog.binpb");
  const config = ["--config", "packages/gateway/test/buf.workspace.yaml"];
  await runTool(root, ["buf", "build", ...config, "--path", proto, "--output", image]);
  await fetchTool(own, ["go", "mod", "download"]);
  const without = excluded.flatMap((one) => ["--exclude-type", one]);
  await runTool(own, ["buf", "generate", "catalog.binpb", ...without]);
  await runTool(own, ["go", "build", "-o", "program", "."]);
  return join(own, "program");
}

async function tryServer(server: string, catalog: string, rest: string): Promise<void> {
  // Each has a catalog of its own, which the same calls fill.
  await using own = await startServer([catalog], folder.path);
  await using behind = await startServer([catalog], folder.path);
  await using front = await startServer([rest, server, `${behind.port}`], folder.path);
  const direct = openDirect(own.port);
  const url = `http://127.0.0.1:${front.port}`;
  const client = createClient(CatalogService, createRestTransport({ baseUrl: url }));
  const name = "shelves/t/volumes/1";
  for (const { port } of [own, behind]) {
    const one = openDirect(port);
    await one.createVolume({ parent: "shelves/t", volume: { id: 1n } });
    await one.uploadVolume({ name, content: text });
  }
  const known = differences[server] ?? {};
  for (const [what, call] of rows) {
    const [expected, received] = [await outcomeOf(call(direct)), await outcomeOf(call(client))];
    const isSame = isDeepStrictEqual(received, expected);
    if (isSame && known[what] === undefined) counts.passed++;
    else if (!isSame && known[what] !== undefined) {
      counts.differing++;
      print(`${server} differs: ${what}: ${known[what]}`);
    } else {
      counts.failed++;
      print(`${server}: ${what}: ${show(received)} instead of ${show(expected)}`);
    }
  }
}

function openDirect(port: number): Catalog {
  return createClient(CatalogService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` }));
}

async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const { code, rawMessage } = ConnectError.from(error);
    return { code, rawMessage };
  }
}

function show(value: unknown): string {
  const text = JSON.stringify(value, (_key, one) => (typeof one === "bigint" ? `${one}` : one));
  return text.slice(0, 300);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
