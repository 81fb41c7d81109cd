/**
 * Callers that ask for a stream and read none of it. `PROXY_SLOW_READERS=10000` has as many.
 * Each has a stream of HTTP/2, of which it has opened a window of 64 KiB.
 */
import { once } from "node:events";
import { type ClientHttp2Stream, connect } from "node:http2";
import { expect, test } from "vitest";
import { nodeOfSources, startServer } from "../../../gateway/test/runtimes/server-process.ts";
import { get, send } from "../../../gateway/test/support/catalog.ts";
import { exchange } from "../../../gateway/test/support/http-exchange.ts";

const readers = Number(process.env["PROXY_SLOW_READERS"] ?? 50);

const readersPerConnection = 100;

/** The windows of both sides, what Node holds beside them, and garbage. Without bounds there is no end. */
const bytesMax = 2 * 1024 * 1024;

const start = (program: string, ...args: string[]) =>
  startServer([...nodeOfSources, `${import.meta.dirname}/${program}`, ...args], ".");

test(
  `${readers} callers that read nothing take little memory, and others are served`,
  async ({ annotate }) => {
    await using upstream = await start("upstream-process.ts");
    await using proxy = await start("proxy-process.ts", `http://127.0.0.1:${upstream.port}`);
    const origin = `http://127.0.0.1:${proxy.port}`;
    const rss = async () =>
      Number((await exchange({ origin, version: "1.1", ...get("/rss") })).body.toString());
    const create = () =>
      exchange({ origin, version: "2", ...send("POST", "/v1/shelves/a/volumes", { id: "1" }) });

    for (let calls = 0; calls < 100; calls++) await create();
    const before = await rss();
    const sessions = Array.from({ length: Math.ceil(readers / readersPerConnection) }, () =>
      connect(origin),
    );
    for (let i = 0; i < readers; i++) {
      const session = sessions[i % sessions.length];
      const stream = session?.request({ ":path": "/v1/shelves/a/volumes:watch" });
      if (stream === undefined) throw new Error("no session");
      const [head] = await once(stream as ClientHttp2Stream, "response");
      expect(head[":status"]).toBe(200);
    }
    for (let calls = 0; calls < 100; calls++) {
      expect(await create()).toMatchObject({ status: 200 });
    }
    const each = ((await rss()) - before) / readers;
    await annotate(
      `${Math.round(each / 1024)} KiB each, ${Math.round((await rss()) / 2 ** 20)} MiB in all`,
    );
    expect(each).toBeLessThan(bytesMax);
    for (const session of sessions) session.destroy();
  },
  30_000 + readers * 20,
);
