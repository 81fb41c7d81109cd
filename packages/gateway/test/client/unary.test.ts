/** Unary calls of the client, against servers that answer as they should, and as they should not. */
import { constants, type OutgoingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { AnswerError } from "../../src/client/index.ts";
import { wrapEnvelope } from "../../src/rpc/envelope-splitter.ts";
import { VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { within } from "../support/within.ts";
import {
  type Answer,
  answerAtOnce,
  answerOk,
  answerWith,
  type FakeServer,
  grpcHead,
  openFakeServer,
} from "./fake-server.ts";

const call = (fake: FakeServer, options?: object) =>
  within("an answer", fake.catalog.getVolume({ name: "shelves/a/volumes/1" }, options));

const failureOf = (fake: FakeServer, options?: object) =>
  call(fake, options).then(
    () => expect.fail("the call went well"),
    (error: unknown) => error as ConnectError,
  );

const statusOf = (error: ConnectError): OutgoingHttpHeaders =>
  Object.fromEntries(setTrailerStatus(new Headers(), error));

const wrongField = { fieldViolations: [{ field: "name", description: "must not be so" }] };
const invalid = new ConnectError("name must not be so: ü", Code.InvalidArgument, undefined, [
  { desc: BadRequestSchema, value: wrongField },
]);
const volume = Buffer.from(
  toBinary(VolumeSchema, {
    $typeName: "library.v1.Volume",
    id: 2n ** 53n + 1n,
    name: "",
    title: "Emma",
  }),
);
const envelopes = (...messages: [flags: number, message: Uint8Array][]) =>
  Buffer.concat(messages.map(([flags, message]) => wrapEnvelope(flags, message)));
const fields = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "more"]));

test("an answer without a status ends a call whose request the server does not read", async () => {
  await using fake = await openFakeServer((stream) => {
    stream.pause();
    stream.respond(grpcHead, { endStream: true });
  });
  const volume = { title: "x".repeat(1_000_000) };
  const answer = fake.catalog.createVolume({ volume });
  await expect(within("the end of the call", answer)).rejects.toMatchObject({
    code: Code.Unavailable,
    rawMessage: "the answer ended without a gRPC status",
  });
});

describe("an error is told as what it is:", () => {
  test.each<[what: string, Answer, code: Code, message: string | RegExp]>([
    [
      "one with details",
      answerWith(statusOf(invalid)),
      Code.InvalidArgument,
      "name must not be so: ü",
    ],
    [
      "one without a message",
      answerAtOnce({ ...grpcHead, ...statusOf(invalid) }),
      Code.InvalidArgument,
      "name must not be so: ü",
    ],
    [
      "one of a server that sends no content type with it",
      answerAtOnce({ ":status": 200, "grpc-status": "14", "grpc-message": "back%20soon" }),
      Code.Unavailable,
      "back soon",
    ],
    [
      "an error page of a proxy",
      (stream) => {
        stream.respond({ ":status": 502, "content-type": "text/html" });
        stream.end("<h1>Bad Gateway</h1>".repeat(10_000));
      },
      Code.Unavailable,
      "HTTP status 502 with text/html, which is not gRPC",
    ],
    [
      "a page of some other server",
      (stream) => {
        stream.respond({ ":status": 200, "content-type": "text/html; charset=utf-8" });
        stream.end("<h1>Welcome</h1>");
      },
      Code.Unknown,
      /^HTTP status 200 with text\/html/,
    ],
    [
      "gRPC-Web",
      answerWith(
        { "grpc-status": "0" },
        { head: { ...grpcHead, "content-type": "application/grpc-web" } },
      ),
      Code.Unknown,
      /^HTTP status 200 with .*not gRPC$/,
    ],
    ["no such page", answerAtOnce({ ":status": 404 }), Code.Unimplemented, /^HTTP status 404/],
    [
      "no status, as of a proxy that drops trailers",
      (stream) => {
        stream.respond(grpcHead);
        stream.end(Buffer.alloc(5));
      },
      Code.Unavailable,
      "the answer ended without a gRPC status",
    ],
    [
      "a status that is none",
      answerWith({ "grpc-status": "fine" }),
      Code.Internal,
      "invalid grpc-status: fine",
    ],
    [
      "a text that cannot be decoded",
      answerWith({ "grpc-status": "3", "grpc-message": "%ff%" }),
      Code.Unknown,
      /status that can be read \(3\)/,
    ],
    [
      "a reset",
      (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      Code.Internal,
      /INTERNAL_ERROR/,
    ],
    [
      "more headers than anybody needs",
      answerAtOnce({ ...grpcHead, "grpc-status": "0", ...fields(200) }),
      Code.ResourceExhausted,
      /ENHANCE_YOUR_CALM/,
    ],
    [
      "no message",
      answerWith({ "grpc-status": "0" }, { body: Buffer.alloc(0) }),
      Code.Unimplemented,
      /no message/,
    ],
    [
      "two messages",
      answerWith({ "grpc-status": "0" }, { body: Buffer.alloc(10) }),
      Code.Unimplemented,
      /more than one/,
    ],
    [
      "a message cut short",
      answerWith({ "grpc-status": "0" }, { body: Buffer.alloc(4) }),
      Code.Internal,
      /amid a message/,
    ],
    [
      "a message that is none",
      answerWith({ "grpc-status": "0" }, { body: envelopes([0, Buffer.of(0xff)]) }),
      Code.Internal,
      "the answer is no library.v1.Volume",
    ],
    [
      "a compression that nobody has named",
      answerWith({ "grpc-status": "0" }, { body: envelopes([1, gzipSync(volume)]) }),
      Code.Internal,
      /compressed with nothing/,
    ],
    [
      "a message over the limit",
      answerWith({ "grpc-status": "0" }, { body: envelopes([0, Buffer.alloc(5000)]) }),
      Code.ResourceExhausted,
      /larger than/,
    ],
  ])("%s", async (_, answer, code, message) => {
    await using fake = await openFakeServer(answer, { readMaxBytes: 4096 });
    const error = await failureOf(fake);
    expect(error).toMatchObject({ code, rawMessage: expect.stringMatching(message) });
  });

  test("with its details, and what came before and behind", async () => {
    const head = { ...grpcHead, "x-before": "1", "x-before-bin": "AAE" };
    const trailers = { ...statusOf(invalid), "x-behind": "2" };
    await using fake = await openFakeServer(answerWith(trailers, { head }));
    const error = await failureOf(fake);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([wrongField]);
    expect(error).toBeInstanceOf(AnswerError);
    const { header, trailer, metadata } = error as AnswerError;
    expect([header.get("x-before"), header.get("x-behind")]).toEqual(["1", null]);
    expect([trailer.get("x-before"), trailer.get("x-behind")]).toEqual([null, "2"]);
    expect(["x-before-bin", "x-behind"].map((name) => metadata.get(name))).toEqual(["AAE", "2"]);
  });
});

test.each([
  ["plain", 0, volume],
  ["in gzip", 1, gzipSync(volume)],
] as const)("an answer has its headers, message and trailers: %s", async (_, flags, message) => {
  const asked: unknown[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    asked.push(headers);
    const head = { ...grpcHead, "grpc-encoding": "gzip", "x-before": "1" };
    const body = envelopes([flags, message]);
    answerWith({ "grpc-status": "0", "x-behind": "2" }, { head, body })(stream, headers);
  });
  const told: (string | null)[] = [];
  const answer = await call(fake, {
    headers: { "X-Tenant": "acme", connection: "close", te: "gzip" },
    onHeader: (header: Headers) => told.push(header.get("x-before")),
    onTrailer: (trailer: Headers) => told.push(trailer.get("x-behind")),
  });
  expect(answer).toMatchObject({ id: 9007199254740993n, title: "Emma" });
  expect(told).toEqual(["1", "2"]);
  expect(asked).toMatchObject([
    {
      ":path": "/library.v1.CatalogService/GetVolume",
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-accept-encoding": "gzip",
      "x-tenant": "acme",
    },
  ]);
  expect(asked[0]).not.toHaveProperty("grpc-timeout");
  expect(asked[0]).not.toHaveProperty("connection");
});

test("a call that has no answer in time ends, here and at the server, and others go on", async () => {
  const reset = Promise.withResolvers<number>();
  const timeouts: string[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    timeouts.push(`${headers["grpc-timeout"]}`);
    if (timeouts.length > 1) return answerOk(stream, headers);
    stream.on("close", () => reset.resolve(stream.rstCode));
  });
  const error = await failureOf(fake, { timeoutMs: 200 });
  expect(error).toMatchObject({ code: Code.DeadlineExceeded });
  expect(await within("the reset", reset.promise)).toBe(constants.NGHTTP2_CANCEL);
  await call(fake, { timeoutMs: 2 ** 40 });
  await call(fake, { timeoutMs: 2 ** 30 });
  expect(fake.sessions).toHaveLength(1);
  // Never more than was given: some of it has passed.
  const [short = "", none, long] = timeouts;
  expect(short).toMatch(/^\d+m$/);
  expect(Number.parseInt(short, 10)).toBeLessThanOrEqual(200);
  expect([none, long]).toEqual(["undefined", "1073741S"]);
});

test("a call that has no time left does not go out", async () => {
  await using fake = await openFakeServer(answerOk);
  expect(await failureOf(fake, { timeoutMs: 0.5 })).toMatchObject({ code: Code.DeadlineExceeded });
  expect(fake.sessions).toEqual([]);
});

test("who leaves ends the call, here and at the server", async () => {
  const reset = Promise.withResolvers<number>();
  const leaving = new AbortController();
  await using fake = await openFakeServer((stream) => {
    stream.on("close", () => reset.resolve(stream.rstCode));
    leaving.abort();
  });
  const error = await failureOf(fake, { signal: leaving.signal });
  expect(error).toMatchObject({ code: Code.Canceled });
  expect(await within("the reset", reset.promise)).toBe(constants.NGHTTP2_CANCEL);
  expect(await failureOf(fake, { signal: leaving.signal })).toMatchObject({ code: Code.Canceled });
});
