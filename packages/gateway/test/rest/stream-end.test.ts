/** Streams that end early: nobody keeps waiting, and nothing incomplete looks complete. */
import { once } from "node:events";
import { type ClientHttp2Session, connect, constants } from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { openGateway } from "../support/gateway.ts";
import { within } from "../support/within.ts";

let ended: PromiseWithResolvers<void>;
let gateway: Awaited<ReturnType<typeof openGateway>>;
let client: ClientHttp2Session;

beforeEach(async () => {
  ended = Promise.withResolvers();
  gateway = await openGateway({
    mayFail: true,
    routes: (router) => {
      router.service(CatalogService, {
        async *watchVolumes() {
          try {
            for (;;) yield { title: "x".repeat(100_000) };
          } finally {
            ended.resolve();
          }
        },
        async *streamVolume() {
          yield { contentType: "text/plain", data: Buffer.from("half of ") };
          throw new ConnectError("the rest is lost", Code.DataLoss);
        },
      });
    },
  });
  client = connect(gateway.origin("2"));
});

afterEach(async () => {
  client.destroy();
  await gateway[Symbol.asyncDispose]();
});

describe("the implementation's stream ends", () => {
  test("when a client that does not read leaves", async () => {
    const request = client.request({ ":path": "/v1/shelves/a/volumes:watch" });
    request.on("error", () => {});
    await within("the head", once(request, "response"));
    request.close(constants.NGHTTP2_CANCEL);
    await within("the end of the stream", ended.promise);
  });

  test("after HEAD, which reads nothing of it", async () => {
    const request = client.request({ ":path": "/v1/shelves/a/volumes:watch", ":method": "HEAD" });
    request.resume();
    await within("the end of the stream", ended.promise);
  });
});

test("a raw stream that fails late is aborted, not ended", async () => {
  const request = client.request({ ":path": "/v1/shelves/a/volumes/1:stream" });
  request.resume();
  const [error] = await within(
    "the break",
    once(request, "error").catch((reason) => [reason]),
  );
  expect(error).toMatchObject({ code: "ERR_HTTP2_STREAM_ERROR" });
});
