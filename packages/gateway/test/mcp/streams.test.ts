/** Streams as one result: limits, progress, and callers that leave. */
import { once } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createMcp, type McpOptions } from "../../src/mcp/index.ts";
import { type Catalog, CatalogService, openShelves } from "../support/catalog.ts";
import { clients, openModern } from "../support/mcp-client.ts";

const tools = [CatalogService.typeName];
const parent = "shelves/a";

const open = (watchVolumes: NonNullable<Catalog["watchVolumes"]>, own: Partial<McpOptions> = {}) =>
  openShelves({ watchVolumes }, { mcp: createMcp({ tools, ...own }) });

async function* endless() {
  for (let id = 1n; ; id++) yield { id };
}

/** Three volumes; then nothing until the caller leaves. */
async function* waiting(_: unknown, { signal }: { readonly signal: AbortSignal }) {
  yield* [{ id: 1n }, { id: 2n }, { id: 3n }];
  await once(signal, "abort");
}

const volumes = (...ids: readonly number[]) => ids.map((id) => ({ id: String(id) }));

describe.each(clients)("for %s,", (_by, connect) => {
  test.each([
    ["never ends is cut when the result is full", endless, { streamBytesMax: 30 }],
    ["waits is cut when its time is up", waiting, { streamTimeMs: 50 }],
  ] as const)("a stream that %s", async (_what, watch, limit) => {
    await using gateway = await open(watch, limit);
    await using client = await connect(`${gateway.origin("1.1")}/mcp`);
    const { structuredContent } = await client.call("watch_volumes", { parent });
    expect(structuredContent).toEqual({ messages: volumes(1, 2, 3), truncated: true });
  });

  test("each message is progress, where it is asked for", async () => {
    const progress: number[] = [];
    await using gateway = await open(waiting, { streamTimeMs: 500 });
    await using client = await connect(`${gateway.origin("1.1")}/mcp`);
    const onprogress = (told: { readonly progress: number }) => void progress.push(told.progress);
    const { structuredContent } = await client.call("watch_volumes", { parent }, { onprogress });
    expect(structuredContent).toEqual({ messages: volumes(1, 2, 3), truncated: true });
    expect(progress).toEqual([1, 2, 3]);
  });

  test("an error keeps what came before it", async () => {
    async function* failing() {
      yield { id: 1n };
      throw new ConnectError("no more", Code.DataLoss);
    }
    await using gateway = await open(failing);
    await using client = await connect(`${gateway.origin("1.1")}/mcp`);
    const result = await client.call("watch_volumes", { parent });
    expect(result.isError).toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? "")).toMatchObject({ code: "DATA_LOSS" });
    expect(result.structuredContent).toEqual({ messages: volumes(1), truncated: true });
  });

  test.each([
    ["in JSON", {}],
    ["with progress", { onprogress: () => {} }],
  ])("a caller that leaves cancels, %s", async (_how, options) => {
    const begun = Promise.withResolvers<void>();
    const cancelled = Promise.withResolvers<void>();
    await using gateway = await open(async function* (_request, { signal }) {
      signal.addEventListener("abort", () => cancelled.resolve());
      yield { id: 1n };
      begun.resolve();
      await cancelled.promise;
    });
    await using client = await connect(`${gateway.origin("1.1")}/mcp`);
    const leaving = new AbortController();
    const { signal } = leaving;
    const called = client.call("watch_volumes", { parent }, { signal, ...options });
    await begun.promise;
    leaving.abort();
    await expect(called).rejects.toThrow();
    if (connect === openModern) await cancelled.promise;
    else cancelled.resolve(); // it tells so by a notification, which a server without sessions passes over
  });
});

test("a stream without progress is one event: some clients stop at many lines without one", async () => {
  await using gateway = await open(endless, { streamBytesMax: 3000 });
  const params = { name: "watch_volumes", arguments: { parent } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const headers = { "content-type": "application/json" };
  const response = await gateway.send({ method: "POST", path: "/mcp", headers, body });
  expect(response.body.toString()).toMatch(/^data: .*\n\n$/);
});
