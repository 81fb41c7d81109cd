/** Streams of an HTTP/2 session end as usual, and leave nothing behind. */
import { once } from "node:events";
import http2, {
  type ClientHttp2Session,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { setImmediate as nextTurn } from "node:timers/promises";
import { getHeapStatistics } from "node:v8";
import { expect, onTestFinished, test } from "vitest";
import { defaultLimits } from "../../src/server/limits.ts";
import { keepStreamsInTables, StreamTable } from "../../src/server/stream-table.ts";
import { openCollector } from "../support/collect-garbage.ts";
import { openTestPort } from "../support/test-port.ts";

const limits = { ...defaultLimits, streamsMax: 32 };

async function connectTo(serve: (stream: ServerHttp2Stream) => void): Promise<ClientHttp2Session> {
  const serveStream = (stream: ServerHttp2Stream) => {
    serve(stream);
    return true;
  };
  const port = await openTestPort({ limits, serveStream });
  const client = http2.connect(`http://127.0.0.1:${port.address.port}`);
  client.on("error", () => {});
  onTestFinished(async () => {
    client.destroy();
    await port.drain(0);
  });
  await once(client, "connect");
  return client;
}

async function ask(client: ClientHttp2Session): Promise<void> {
  const request = client.request();
  request.on("error", () => {});
  request.resume();
  await once(request, "close");
}

test("what has left an old table is collected in a minor collection", async () => {
  const collect = openCollector();
  const [open, pending] = [new StreamTable(), new StreamTable()];
  const pass = (streams: number): void => {
    for (let id = 1; id <= streams; id++) {
      const stream = { payload: Array.from({ length: 1000 }, () => ({})) };
      pending.add(stream as unknown as ServerHttp2Stream);
      pending.delete(stream);
      open.set(id, stream as unknown as ServerHttp2Stream);
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

test("the sessions of the port have such tables", async () => {
  const served = Promise.withResolvers<ServerHttp2Stream>();
  const client = await connectTo(served.resolve);
  client.request().on("error", () => {});
  const stream = await served.promise;
  const session = stream.session ?? {};
  const values = Object.getOwnPropertySymbols(session).map((symbol) =>
    Reflect.get(session, symbol),
  );
  const [state] = values.filter((value) => value?.streams !== undefined);
  expect(state).toMatchObject({
    streams: expect.any(StreamTable),
    pendingStreams: expect.any(StreamTable),
  });
  expect(state.streams.size).toBe(1);
});

test("a session created in another way is unchanged", () => {
  const state = { streams: [], pendingStreams: new Set() };
  const sessions = [{}, { [Symbol("state")]: undefined }, { [Symbol("state")]: state }];
  for (const session of sessions) keepStreamsInTables(session as unknown as ServerHttp2Session);
  expect(state).toEqual({ streams: [], pendingStreams: new Set() });
});

test("a connection that is cut off ends all of its streams", async () => {
  const closed: number[] = [];
  const all = Promise.withResolvers<void>();
  const opened: ServerHttp2Stream[] = [];
  const client = await connectTo((stream) => {
    opened.push(stream);
    stream.on("error", () => {});
    stream.on("close", () => closed.push(Number(stream.id)));
    if (opened.length === 20) all.resolve();
  });
  const asked = Array.from({ length: 20 }, () => ask(client).catch(() => {}));
  await all.promise;
  for (const stream of [opened[3], opened[19], opened[0]]) {
    stream?.respond({ ":status": 200 }, { endStream: true });
  }
  await Promise.all([asked[3], asked[19], asked[0]]);
  client.destroy();
  await expect.poll(() => closed.length).toBe(20);
  expect(new Set(closed)).toEqual(new Set(opened.map(({ id }) => id)));
});

test("a connection that is told to close does so after its last answer", async () => {
  const opened: ServerHttp2Stream[] = [];
  const three = Promise.withResolvers<void>();
  const client = await connectTo((stream) => {
    if (opened.push(stream) === 3) three.resolve();
  });
  const asked = [ask(client), ask(client), ask(client)];
  await three.promise;
  const [session] = opened.map((stream) => stream.session);
  session?.close();
  for (const [n, stream] of opened.entries()) {
    expect(session?.destroyed).toBe(false);
    stream.respond({ ":status": 200 }, { endStream: true });
    await asked[n];
  }
  await expect.poll(() => session?.destroyed).toBe(true);
});
