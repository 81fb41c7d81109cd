/** A store that has as much waiting as it may: who comes now is told so at once, and costs nothing. */
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/exchange.ts";
import { openDefault } from "../../packages/gateway/test/support/mcp-client.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createRecordedLog } from "../../packages/kit/test/support/recorded-log.ts";
import type { PlantStore } from "../../src/plant.ts";
import { serve } from "../../src/server/serve.ts";
import { resolveSettings } from "../../src/server/settings.ts";
import { openProgram } from "../../src/server/start.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { lockStore } from "../support/locked-store.ts";
import { openStore } from "../support/open-store.ts";
import { authorization } from "../support/plant-request.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { knownToken } from "../support/test-server.ts";

/** A server where one plant may wait, while the commit of another is under way. */
async function openSmallServer() {
  const auth = { tokenFile: undefined, tokens: [knownToken] };
  const log = createRecordedLog();
  const settings = resolveSettings({ port: 0, auth, drainTimeoutMs: 500, log, mcp: true });
  const database = join(await temporaryFolder(), "plants.db");
  const store = await openStore(`sqlite:${database}`, { limits: { waitingRowsMax: 1 } });
  const program = await openProgram(settings);
  program.defer(() => store.close());
  const url = `http://127.0.0.1:${await serve(program, settings, store)}`;
  return { url, database, store, [Symbol.asyncDispose]: program.close };
}

test.each(rawProtocols)(
  "over $name, while the queue is full, a request is refused before its body has come, and taken later",
  async (protocol) => {
    const { version, path, contentType, name } = protocol;
    /** Asks for a plant, and sends a byte of it. */
    async function ask(token: string) {
      const authorization = `Bearer ${token}`;
      const headers = { "content-type": contentType, authorization, "content-length": "100" };
      const sent = { path, headers, body: "{", unfinished: true };
      const response = await exchange({ origin: server.url, version, ...sent });
      return { response, refusal: refusalOf(protocol.read(response)) };
    }
    await using server = await openSmallServer();
    using lock = lockStore(server.database);
    const waiting = await fill(server.store);
    const { response, refusal } = await ask(knownToken);
    expect(refusal.code).toBe(Code.Unavailable);
    expect(refusal.message).toBe("the store has too much work waiting; try again later");
    if (/^REST|^Connect/.test(name)) {
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    }
    if (!name.startsWith("REST")) expect(refusal.retryDelayMs).toBe(1000);
    // A stranger hears nothing of it.
    expect((await ask("wrong")).refusal.code).toBe(Code.Unauthenticated);

    lock.release();
    await Promise.all(waiting);
    const plant = protocol.encode({ id: 3n, name: "Basil" });
    expect(await protocol.send(server.url, plant)).toEqual({ ok: { name: "Basil" } });
  },
);

test("while the queue is full, what stores nothing is served, and a tool of MCP that does is not", async () => {
  await using server = await openSmallServer();
  using lock = lockStore(server.database);
  const waiting = await fill(server.store);
  await using client = await openDefault(`${server.url}/mcp`, { authorization });
  expect(await client.listTools()).toMatchObject([{ name: "create_plant" }]);
  const created = client.call("create_plant", { plant: { id: 3, name: "Basil" } });
  await expect(created).rejects.toThrow("too much work waiting");
  const check = { path: "/grpc.health.v1.Health/Check", body: "{}" };
  const headers = { "content-type": "application/json" };
  const health = await exchange({ origin: server.url, version: "2", headers, ...check });
  expect(JSON.parse(health.body.toString())).toEqual({ status: "SERVING" });
  lock.release();
  await Promise.all(waiting);
});

/** A plant whose commit is under way, and one that waits. */
async function fill(store: PlantStore): Promise<readonly Promise<unknown>[]> {
  const create = (id: bigint) => store.create({ id, name: "Basil" });
  const begun = create(1n);
  // Nothing tells when a queue changes.
  const hasRoom = async () => {
    while (store.isFull()) await nextTurn();
  };
  await within("a commit", hasRoom());
  const waiting = create(2n);
  expect(store.isFull()).toBe(true);
  return [begun, waiting];
}
