/** MCP by lines: what is read, what is written, and when it ends. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { rawJson } from "../../src/codec/json-text.ts";
import { gatewayFetchHandler } from "../../src/index.ts";
import { createMcp, serveStdio } from "../../src/mcp/index.ts";
import { createCatalog } from "../catalog-server.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { within } from "../support/within.ts";

let started = Promise.withResolvers<void>();

const handler = gatewayFetchHandler({
  routes: (router) =>
    void router.service(CatalogService, {
      ...createCatalog(),
      async getVolume({ name }, { signal }) {
        if (name !== "slow") return { title: name };
        started.resolve();
        await new Promise((_, reject) => signal.addEventListener("abort", reject));
        return {};
      },
    }),
  mcp: createMcp({ tools: [CatalogService.typeName] }),
});

const callOf = (name: string, id: unknown, args: object, _meta?: object) => {
  const params = { name, arguments: args, _meta };
  return JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params });
};
const call = (id: unknown, name: string) => callOf("get_volume", id, { name });

/** Everything that is written for an input. */
async function run(input: AsyncIterable<Uint8Array | string>, lineBytesMax?: number) {
  let written = "";
  const output = {
    write(text: string, done: () => void) {
      written += text;
      done();
    },
  };
  const options = { input, output, ...(lineBytesMax !== undefined && { lineBytesMax }) };
  await within("its end", serveStdio(handler, options));
  const lines = written.split("\n").filter(Boolean);
  return lines.map((line): { id?: unknown } => JSON.parse(line));
}

async function* input(...chunks: readonly (Uint8Array | string)[]) {
  yield* chunks;
}

test("each line is answered by one, wherever it is cut, and the last without its end", async () => {
  const text = `${call(1, "é")}\r\n\n${call("b", "2")}\n${call(3, "3")}`;
  const bytes = [...new TextEncoder().encode(text)].map((byte) => Uint8Array.of(byte));
  const answers = await run(input(...bytes));
  expect(answers).toHaveLength(3);
  expect(new Set(answers.map(({ id }) => id))).toEqual(new Set([1, "b", 3]));
  const result = { structuredContent: { title: "é" } };
  expect(answers.find(({ id }) => id === 1)).toMatchObject({ result });
});

const asking = (version: unknown, name?: unknown) => {
  const params = { _meta: { "io.modelcontextprotocol/protocolVersion": version }, name };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "server/discover", params });
};

test.each([
  ["no JSON", "nonsense", -32700],
  ["no UTF-8", Uint8Array.of(0x22, 0xff, 0x22), -32700],
  ["no message", "[]", -32600],
  ["a method that there is not", '{"jsonrpc":"2.0","id":1,"method":"é x"}', -32601],
  ["a version that is not served", asking("2099-01-01"), -32022],
  ["a method that an older version does not have", asking("2025-11-25"), -32601],
  ["a version that no header can have", asking("é\n"), -32020],
  ["a name that is no text", asking("2026-07-28", { toString: 1 }), -32602],
])("%s is told", async (_what, line, code) => {
  expect(await run(input(line, "\n"))).toMatchObject([{ error: { code } }]);
});

test("a message that is refused unread is answered by its id", async () => {
  const text = `{"jsonrpc":"2.0","id":"$'","method":"a","params":[${"0,".repeat(300_000)}0]}`;
  expect(await run(input(text))).toMatchObject([{ id: "$'", error: { code: -32700 } }]);
});

test("responses and notifications are not answered", async () => {
  const responses = ['{"jsonrpc":"2.0","id":1,"result":{}}\n', '{"jsonrpc":"2.0","error":{}}\n'];
  expect(await run(input('{"jsonrpc":"2.0","method":"a"}\n', ...responses))).toEqual([]);
});

test.each([
  [1, 2],
  ["a", 2],
  [rawJson("9007199254740993"), 2 ** 53],
])("the call %j that is cancelled ends, and is not answered", async (id, other) => {
  started = Promise.withResolvers();
  const cancel = { requestId: id, reason: "no more" };
  async function* cancelled() {
    yield `${call(id, "slow")}\n`;
    await started.promise;
    yield `${call(other, "fast")}\n`;
    yield `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: cancel })}\n`;
    yield `${call(3, "fast")}\n`;
  }
  expect(new Set((await run(cancelled())).map(({ id }) => id))).toEqual(new Set([other, 3]));
});

test("a stream tells its progress, and then its result", async () => {
  const parent = "shelves/a";
  const _meta = { progressToken: "p" };
  const create = { parent, volume: { id: "1", title: "Emma" } };
  async function* streamed() {
    yield `${callOf("create_volume", 1, create, _meta)}\n`;
    yield `${callOf("watch_volumes", 2, { parent }, _meta)}\n`;
  }
  expect((await run(streamed())).find(({ id }) => id === 2)).toMatchObject({
    result: { structuredContent: { truncated: false } },
  });
});

test("its process stays until the last answer, also if nothing but its time ends a stream", async () => {
  const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const script = `
    import { gatewayFetchHandler } from ${source("../../src/index.ts")};
    import { createMcp, serveStdio } from ${source("../../src/mcp/index.ts")};
    import { CatalogService } from ${source("../gen/library/v1/catalog_pb.ts")};
    const routes = (router) => void router.service(CatalogService, {
      async *watchVolumes() { yield { title: "a" }; await new Promise(() => {}); },
    });
    const mcp = createMcp({ tools: [CatalogService.typeName], streamTimeMs: 1500 }); // longer than any other timer
    await serveStdio(gatewayFetchHandler({ routes, mcp }), { input: process.stdin, output: process.stdout });`;
  const running = promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  running.child.stdin?.end(callOf("watch_volumes", 1, { parent: "a" }));
  expect(JSON.parse((await within("its end", running)).stdout)).toMatchObject({
    result: { structuredContent: { truncated: true } },
  });
});

test("a line over the limit ends it", async () => {
  const error = new RangeError("a message has more than 100 bytes");
  await expect(run(input("x".repeat(60), "x".repeat(60)), 100)).rejects.toThrow(error);
});

test("a response that is cut ends it, whatever is still to come", async () => {
  const body = new ReadableStream({ pull: () => Promise.reject(new Error("cut")) });
  async function* open() {
    yield `${call(1, "a")}\n`;
    await new Promise(() => {});
  }
  const served = serveStdio(async () => new Response(body), {
    ...{ input: open(), output: { write: (_text, done) => done() } },
  });
  await expect(within("its end", served)).rejects.toThrow("cut");
});
