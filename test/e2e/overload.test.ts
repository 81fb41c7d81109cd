/** A store that has as much waiting as it may: who comes now is told so at once, and costs nothing. */
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { openAuthenticator } from "connect-gateway-proxy/auth";
import { describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createRecordedLog } from "../../packages/proxy/test/support/recorded-log.ts";
import type { PlantStore } from "../../src/plant.ts";
import { serve } from "../../src/server/serve.ts";
import { resolveSettings } from "../../src/server/settings.ts";
import { openStore } from "../../src/store/open.ts";
import { lockStore } from "../support/locked-store.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { knownToken } from "../support/test-server.ts";

/** A server where one plant may wait, while the commit of another is under way. */
async function openSmallServer(folder: string) {
  const database = join(folder, "plants.db");
  const auth = { tokenFile: undefined, tokens: [knownToken] };
  const settings = resolveSettings({
    port: 0,
    auth,
    drainTimeoutMs: 500,
    log: createRecordedLog(),
  });
  const store = await openStore(`sqlite:${database}`, { limits: { waitingRowsMax: 1 } });
  const authenticator = await openAuthenticator(settings.auth, settings.log.warn);
  const { port, close } = await serve(settings, { authenticator, store });
  return { url: `http://127.0.0.1:${port}`, database, store, [Symbol.asyncDispose]: close };
}

describe.each(rawProtocols)("over $name, while the queue is full", (protocol) => {
  /** Asks for a plant, and sends a byte of it. */
  function ask(url: string, token: string) {
    const { version, path, contentType } = protocol;
    const headers = {
      "content-type": contentType,
      authorization: `Bearer ${token}`,
      "content-length": "100",
    };
    return exchange({ origin: url, version, path, headers, body: "{", unfinished: true });
  }

  test("a request is refused before its body has come, and taken later", async () => {
    await using folder = await createTemporaryFolder();
    await using server = await openSmallServer(folder.path);
    using lock = lockStore(server.database);
    const waiting = await fill(server.store);
    const response = await ask(server.url, knownToken);
    const refusal = refusalOf(protocol.read(response));
    expect(refusal.code).toBe(Code.Unavailable);
    expect(refusal.message).toBe("the store has too much work waiting; try again later");
    if (/^REST|^Connect/.test(protocol.name)) {
      expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    }
    if (!protocol.name.startsWith("REST")) expect(refusal.retryDelayMs).toBe(1000);

    lock.release();
    await Promise.all(waiting);
    const plant = protocol.encode({ id: 3n, name: "Basil" });
    expect(await protocol.send(server.url, plant)).toEqual({ ok: { name: "Basil" } });
  });

  test("a stranger hears nothing of it", async () => {
    await using folder = await createTemporaryFolder();
    await using server = await openSmallServer(folder.path);
    using lock = lockStore(server.database);
    const waiting = await fill(server.store);
    const refusal = refusalOf(protocol.read(await ask(server.url, "wrong")));
    expect(refusal.code).toBe(Code.Unauthenticated);
    lock.release();
    await Promise.all(waiting);
  });
});

/** A plant whose commit is under way, and one that waits. */
async function fill(store: PlantStore): Promise<readonly Promise<unknown>[]> {
  const create = (id: bigint) => store.create({ id, name: "Basil", tag: undefined });
  const begun = create(1n);
  await within(
    "a commit",
    until(() => !store.isFull()),
  );
  const waiting = create(2n);
  expect(store.isFull()).toBe(true);
  return [begun, waiting];
}

/** Looks in each turn of the event loop: nothing tells when a queue changes. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}
