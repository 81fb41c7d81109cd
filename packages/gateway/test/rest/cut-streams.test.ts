/** An incomplete stream never looks complete. */
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { type Catalog, openCatalogOf, versions } from "../support/catalog.ts";
import { within } from "../support/within.ts";

const forms = [
  {
    form: "NDJSON",
    accept: "application/x-ndjson",
    isError: /\n\{"error":\{"code":\d+,[^\n]*\}\}\n$/,
  },
  {
    form: "SSE",
    accept: "text/event-stream",
    isError: /\n\nevent: error\ndata: \{"code":[^\n]*\}\n\n$/,
  },
  {
    form: "an array",
    accept: "application/json",
    isError: /,\n\{"error":\{"code":\d+,.*\}\}\]\n$/,
  },
];

type Cut = "deadline" | "shutdown" | "throw";
type End = "goes on" | "ends at once" | "waits" | "throws";

interface Endless {
  readonly end: End;
  readonly signal: AbortSignal;
  /** Called once the client has some of the messages. */
  readonly onBegun: () => void;
}

/** Endless messages, until the signal aborts, or regardless of it. */
async function* endless<T>(message: T, { end, signal, onBegun }: Endless): AsyncGenerator<T> {
  for (let sent = 0; ; sent++) {
    yield message;
    if (sent === 2) onBegun();
    if (end === "throws" && sent === 2) throw new ConnectError("lost", Code.DataLoss);
    if (end === "waits" && sent === 2) await new Promise(() => {});
    if (end === "ends at once" && signal.aborted) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const cuts: readonly (readonly [cut: Cut, end: End])[] = [
  ["deadline", "goes on"],
  ["deadline", "ends at once"],
  ["deadline", "waits"],
  ["shutdown", "goes on"],
  ["shutdown", "ends at once"],
  ["shutdown", "waits"],
  ["throw", "throws"],
];

async function openCut(cut: Cut, end: End) {
  const shutdown = new AbortController();
  const reason = new ConnectError("the server is shutting down", Code.Unavailable);
  const onBegun = () => {
    if (cut === "shutdown") shutdown.abort(reason);
  };
  const part = { contentType: "text/plain", data: Buffer.from("part of it, ") };
  const catalog: Catalog = {
    watchVolumes: (_, { signal }) => endless({ id: 1n }, { end, signal, onBegun }),
    streamVolume: (_, { signal }) => endless(part, { end, signal, onBegun }),
  };
  const gateway = await openCatalogOf(catalog, { mayFail: true, shutdownSignal: shutdown.signal });
  const headers: Record<string, string> = cut === "deadline" ? { "connect-timeout-ms": "500" } : {};
  return { gateway, headers };
}

test("an implementation ends at the deadline although the client reads nothing", async () => {
  const ended = Promise.withResolvers<void>();
  const catalog: Catalog = {
    async *watchVolumes() {
      try {
        for (;;) yield { title: "x".repeat(100_000) };
      } finally {
        ended.resolve();
      }
    },
  };
  await using gateway = await openCatalogOf(catalog, { mayFail: true });
  const socket = connect(gateway.port, "127.0.0.1");
  socket.write(
    "GET /v1/shelves/a/volumes:watch HTTP/1.1\r\nHost: a\r\nConnect-Timeout-Ms: 200\r\n\r\n",
  );
  await within("the end of the implementation", ended.promise);
  socket.destroy();
});

describe.each(versions)("over HTTP/%s", (version) => {
  describe.each(cuts)("cut by %s, of an implementation that %s", (cut, end) => {
    test.concurrent.each(forms)("$form ends with an error", async ({ accept, isError }) => {
      const { gateway, headers } = await openCut(cut, end);
      await using _ = gateway;
      const path = "/v1/shelves/a/volumes:watch";
      const sent = gateway.send({ version, method: "GET", path, headers: { ...headers, accept } });
      const { status, body } = await within("the end of the stream", sent);
      expect(status).toBe(200);
      expect(body.toString()).toMatch(isError);
    });

    test.concurrent("a raw body is aborted", async () => {
      const { gateway, headers } = await openCut(cut, end);
      await using _ = gateway;
      const path = "/v1/shelves/a/volumes/1:stream";
      const sent = gateway.send({ version, method: "GET", path, headers });
      await expect(within("the end of the stream", sent)).rejects.toThrow(
        /aborted|closed|reset|INTERNAL/i,
      );
    });
  });
});
