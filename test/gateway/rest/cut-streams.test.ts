/** A stream that did not reach its end never looks as if it had. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { within } from "../../support/within.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { type Catalog, versions } from "../support/catalog.ts";
import { openGateway } from "../support/gateway.ts";

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

/** Messages for ever: until the signal aborts, or whatever it says. */
async function* endless<T>(message: T, end: End, signal: AbortSignal): AsyncGenerator<T> {
  for (let sent = 0; ; sent++) {
    yield message;
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
  const catalog: Catalog = {
    watchVolumes: (_, { signal }) => endless({ id: 1n }, end, signal),
    streamVolume: (_, { signal }) =>
      endless({ contentType: "text/plain", data: Buffer.from("part of it, ") }, end, signal),
  };
  const gateway = await openGateway({
    mayFail: true,
    shutdownSignal: shutdown.signal,
    routes: (router) => router.service(CatalogService, catalog),
  });
  const reason = new ConnectError("the server is shutting down", Code.Unavailable);
  if (cut === "shutdown") setTimeout(() => shutdown.abort(reason), 100);
  const headers: Record<string, string> = cut === "deadline" ? { "connect-timeout-ms": "100" } : {};
  return { gateway, headers };
}

describe.each(versions)("over HTTP/%s", (version) => {
  describe.each(cuts)("cut by %s, of an implementation that %s", (cut, end) => {
    test.each(forms)("$form ends with an error", async ({ accept, isError }) => {
      const { gateway, headers } = await openCut(cut, end);
      await using _ = gateway;
      const path = "/v1/shelves/a/volumes:watch";
      const sent = gateway.send({ version, method: "GET", path, headers: { ...headers, accept } });
      const { status, body } = await within("the end of the stream", sent);
      expect(status).toBe(200);
      expect(body.toString()).toMatch(isError);
    });

    test("a raw body is broken off", async () => {
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
