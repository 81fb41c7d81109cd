/**
 * A client that sends complete requests and closes its sending side: its calls are cancelled, and
 * answers that are made all the same are sent.
 */
import { once } from "node:events";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CreateVolumeRequestSchema } from "../gen/library/v1/catalog_pb.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { flag, framesIn, http2Bytes } from "../support/frames.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { recordCalls } from "../support/recorded-calls.ts";
import { openTestService, type ServiceOptions, type TestService } from "../support/test-service.ts";
import {
  createPath,
  createRpcPath,
  data,
  headers,
  post,
  rpcVolume,
  volume,
} from "../support/volumes.ts";
import { within } from "../support/within.ts";

const message = toBinary(
  CreateVolumeRequestSchema,
  create(CreateVolumeRequestSchema, { parent: "shelves/a", volume: { id: 1n, title: "Emma" } }),
);
const envelope = Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]).toString("latin1");

const rpcLine = `POST ${createRpcPath} HTTP/1.1`;
const isEnded = (received: Buffer) =>
  framesIn(received).some(({ streamId, flags }) => streamId === 1 && flags & flag.endStream);

const grpc = (path: string) =>
  headers(1, { path, type: "application/grpc", more: [["te", "trailers"]] });

const unary: readonly [what: string, alpn: string, request: string | Buffer][] = [
  ["REST over HTTP/1.1", "http/1.1", post(volume)],
  ["Connect over HTTP/1.1", "http/1.1", post(rpcVolume, { line: rpcLine })],
  [
    "gRPC-Web over HTTP/1.1",
    "http/1.1",
    Buffer.from(post(envelope, { line: rpcLine, type: "application/grpc-web+proto" }), "latin1"),
  ],
  ["REST over HTTP/1.0", "http/1.1", post(volume, { line: `POST ${createPath} HTTP/1.0` })],
  ["REST over HTTP/2", "h2", http2Bytes(headers(1), data(1, volume))],
  ["gRPC over HTTP/2", "h2", http2Bytes(grpc(createRpcPath), data(1, envelope))],
];

const watchPath = "/library.v1.CatalogService/WatchVolumes";
const stream = `GET /v1/shelves/a/volumes:watch HTTP/1.1\r\nHost: a\r\n\r\n`;

describe.each([
  ["in plaintext", false],
  ["over TLS", true],
])("%s", (_name, isTls) => {
  const open = (options: ServiceOptions = {}) =>
    openTestService({ ...options, tls: isTls ? sharedCertificate() : undefined });

  const connect = ({ port }: TestService, alpn: string) =>
    openRawConnection(port, isTls ? { tls: { ALPNProtocols: [alpn] } } : {});

  describe.skipIf(isTls && !hasOpenssl)("a client that has closed its sending side", () => {
    test.each(unary)("cancels its call, over %s, which may answer", async (_, alpn, request) => {
      const begun = Promise.withResolvers<void>();
      const reasons: unknown[] = [];
      const observer = recordCalls();
      await using server = await open({
        observer,
        catalog: {
          async createVolume({ volume = {} }, { signal }) {
            begun.resolve();
            await once(signal, "abort");
            reasons.push(signal.reason);
            return volume;
          },
        },
      });
      using connection = await connect(server, alpn);
      connection.write(request);
      await begun.promise;
      connection.end();
      const received = await connection.untilClosed();
      expect(received.toString("latin1")).toContain("Emma");
      if (alpn === "h2") expect(isEnded(received)).toBe(true);
      expect(reasons).toMatchObject([{ code: Code.Canceled }]);
      await observer.until(1);
      expect(observer.ended[0]).toMatch(/^CreateVolume .* Canceled$/);
    });

    test.each(unary)("at once is answered, over %s", async (_what, alpn, request) => {
      await using server = await open();
      using connection = await connect(server, alpn);
      connection.socket.end(request);
      expect((await connection.untilClosed()).toString("latin1")).toContain("Emma");
    });

    test("gets all answers to pipelined requests, in order", async () => {
      await using server = await open();
      using connection = await connect(server, "http/1.1");
      connection.socket.end([1, 2, 3].map((id) => post(`{"id":${id}}`)).join(""));
      const answers = parseHttp1Responses(await connection.untilClosed());
      expect(answers.map(({ body }) => JSON.parse(body).id)).toEqual(["1", "2", "3"]);
    });

    test.each<[what: string, alpn: string, request: string | Buffer]>([
      ["HTTP/1.1", "http/1.1", post(volume).slice(0, -1)],
      ["HTTP/2", "h2", http2Bytes(headers(1), data(1, volume.slice(0, -1), 0))],
      ["HTTP/2, amid its headers", "h2", http2Bytes(headers(1).subarray(0, -5))],
    ])("in the middle of a request has requested nothing, over %s", async (_, alpn, request) => {
      await using server = await open();
      using connection = await connect(server, alpn);
      connection.socket.end(request);
      expect((await connection.untilClosed()).toString("latin1")).not.toContain("Emma");
      expect(server.created).toEqual([]);
    });

    test.each<[what: string, alpn: string, request: string | Buffer]>([
      ["HTTP/1.1", "http/1.1", stream],
      ["HTTP/2", "h2", http2Bytes(grpc(watchPath), data(1, "\0\0\0\0\0"))],
    ])("ends its stream, over %s", async (_what, alpn, request) => {
      const ended = Promise.withResolvers<void>();
      await using server = await open({
        catalog: {
          async *watchVolumes(_request, { signal }) {
            signal.addEventListener("abort", () => ended.resolve());
            yield { name: "shelves/a/volumes/1" };
            await new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason));
            });
          },
        },
      });
      using connection = await connect(server, alpn);
      connection.write(request);
      await connection.until("a volume", (received) => received.includes("volumes/1"));
      connection.end();
      await within("the end of the call", ended.promise);
      await connection.untilClosed();
    });

    test.each(unary.filter(([what]) => what.startsWith("REST")))(
      "is cut off if there is no answer within the idle timeout, over %s",
      async (_what, alpn, request) => {
        const begun = Promise.withResolvers<void>();
        const catalog = { createVolume: () => new Promise<never>(() => begun.resolve()) };
        await using server = await open({ limits: { idleTimeoutMs: 200 }, catalog });
        using connection = await connect(server, alpn);
        connection.write(request);
        await begun.promise;
        connection.end();
        expect((await connection.untilClosed()).toString("latin1")).not.toContain("Emma");
      },
    );
  });
});
