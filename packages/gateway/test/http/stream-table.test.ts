/** Streams of HTTP/2 sessions end as usual, and no old table keeps them alive. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http2, { type Http2Session, type Http2Stream } from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { createClient } from "@connectrpc/connect";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { openGrpcTransport } from "../../src/client/index.ts";
import { Health } from "../../src/health/index.ts";
import { keepStreamsInTables, StreamTable } from "../../src/http/session.ts";
import { openCollector } from "../support/collect-garbage.ts";
import { listen } from "../support/free-port.ts";
import { openTestPort } from "../support/test-port.ts";

function tableOf(session: Http2Session): StreamTable<unknown> | undefined {
  const values = Object.getOwnPropertySymbols(session).map((key) => Reflect.get(session, key));
  return values.find((value) => value?.streams instanceof StreamTable)?.streams;
}

test("a collection of the young generation frees what has left an old table", async () => {
  const collect = openCollector();
  const open = new StreamTable();
  const pass = (streams: number): void => {
    for (let id = 1; id <= streams; id++) {
      const payload = Array.from({ length: 1000 }, () => ({}));
      open.set(id, { payload } as unknown as Http2Stream);
      open.delete(id - 8);
    }
    for (let id = streams - 7; id <= streams; id++) open.delete(id);
  };
  pass(100);
  collect(); // everything in the tables is old from here on
  const before = getHeapStatistics().used_heap_size;
  pass(1000); // 60 MB
  await nextTurn();
  collect({ type: "minor" });
  collect({ type: "minor" });
  expect(getHeapStatistics().used_heap_size - before).toBeLessThan(5_000_000);
});

test("finds streams by their number, in whatever order they come and go", () => {
  const numbers = fc.uniqueArray(fc.nat(100));
  fc.assert(
    fc.property(numbers, numbers, (opened, closed) => {
      const table = new StreamTable();
      const map = new Map<number, Http2Stream>();
      for (const id of opened) {
        const stream = { id } as Http2Stream;
        table.set(id, stream);
        map.set(id, stream);
      }
      for (const id of closed) {
        table.delete(id);
        map.delete(id);
      }
      expect(table.size).toBe(map.size);
      for (let id = 0; id <= 100; id++) expect(table.get(id)).toBe(map.get(id));
    }),
  );
});

test.each([
  ["server", "a port"],
  ["client", "a gRPC transport"],
])("the %s sessions of %s have tables", async (side) => {
  const port = await openTestPort({
    serveStream(stream) {
      stream.respond({ ":status": 501 }, { endStream: true });
      return true;
    },
  });
  const transport = openGrpcTransport({ url: `http://127.0.0.1:${port.address.port}` });
  onTestFinished(async () => {
    transport.close();
    await port.drain(0);
  });
  const sessions: Http2Session[] = [];
  const onStream = (message: unknown) => {
    const { session } = (message as { stream: Http2Stream }).stream;
    if (session !== undefined) sessions.push(session);
  };
  const channel = `http2.${side}.stream.created`;
  subscribe(channel, onStream);
  onTestFinished(() => void unsubscribe(channel, onStream));
  await expect(createClient(Health, transport).check({})).rejects.toThrow("HTTP status 501");
  expect(sessions.map(tableOf)).toEqual([expect.any(StreamTable)]);
});

test("a session that is not as expected stays as it is", () => {
  const state = { streams: [], pendingStreams: new Set() };
  const sessions = [{}, { [Symbol("state")]: undefined }, { [Symbol("state")]: state }];
  for (const session of sessions) keepStreamsInTables(session as unknown as Http2Session);
  expect(state).toEqual({ streams: [], pendingStreams: new Set() });
});

test.each(["closed", "destroyed"])(
  "requests made before there is a connection end as it is %s",
  async (how) => {
    await using listener = await listen(http2.createServer());
    const client = http2.connect(listener.url).on("error", () => {});
    keepStreamsInTables(client);
    const asked = [0, 1, 2].map(() => client.request().on("error", () => {}));
    const ends = asked.map(
      (stream) => new Promise((resolve) => stream.resume().on("close", resolve)),
    );
    asked[1]?.close();
    if (how === "closed") client.close();
    else client.destroy();
    await Promise.all(ends);
    if (!client.destroyed) await once(client, "close");
  },
);
