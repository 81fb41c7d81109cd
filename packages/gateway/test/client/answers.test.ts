/** What the client makes of what servers answer: right, wrong and cut short, for one message and for streams. */
import { constants, type OutgoingHttpHeaders } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { describe, expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { AnswerError } from "../../src/client/index.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { collect } from "../support/collect.ts";
import { flag, frame, frameType, headersFrame, resetFrame } from "../support/frames.ts";
import { within } from "../support/within.ts";
import {
  type Answer,
  answerAtOnce,
  answerWith,
  type Caller,
  call,
  failureOf,
  grpcHead,
  openFakeServer,
} from "./fake-server.ts";
import { answerFrames, grpcFields, notFound, openRaw } from "./raw-server.ts";

/** Every kind of call that has an answer. That of a stream tells what came before its error. */
const kinds: Readonly<Record<string, (caller: Caller) => Promise<unknown>>> = {
  unary: call,
  "server stream": ({ catalog }) => {
    const before: object[] = [];
    const tell = (error: Error) => Promise.reject(Object.assign(error, { before }));
    return collect(catalog.watchVolumes({ parent: "shelves/a" }), before).catch(tell);
  },
  "client stream": ({ catalog }) => catalog.importVolumes(createAsyncIterable([{}])),
};
const kindNames = Object.keys(kinds);

const outcomeOf = (caller: Caller, kind: string) => settled(kinds[kind]?.(caller));

const settled = (call: Promise<unknown> | undefined) =>
  within("an answer", Promise.resolve(call)).then(
    (value) => ({ value }),
    (error: ConnectError) => error,
  );

const statusOf = (error: ConnectError): OutgoingHttpHeaders =>
  Object.fromEntries(setTrailerStatus(new Headers(), error));

const wrongField = { fieldViolations: [{ field: "name", description: "must not be so" }] };
const invalid = new ConnectError("name must not be so: ü", Code.InvalidArgument, undefined, [
  { desc: BadRequestSchema, value: wrongField },
]);
const detail = anyPack(BadRequestSchema, create(BadRequestSchema));
const detailsOf = (code: number, message: string) =>
  Buffer.from(
    toBinary(StatusSchema, { $typeName: "google.rpc.Status", code, message, details: [detail] }),
  ).toString("base64");

const one = Buffer.alloc(5);
const none = Buffer.alloc(0);
const empties = Array.from({ length: 2000 }, () => none);
const lastFrame = (streamId: number) => frame(frameType.data, { streamId, flags: flag.endStream });

/** A status in the first HEADERS, of a stream that goes on. */
const early = (status: string, trailers: OutgoingHttpHeaders, body = one) =>
  answerWith(trailers, {
    head: { ...grpcHead, "grpc-status": status, "grpc-message": "early", "x-before": "1" },
    body,
  });

/** Headers, a message, and then what ends the stream. */
const afterMessage =
  (end: Answer): Answer =>
  (stream, headers) => {
    stream.respond(grpcHead);
    stream.write(one, () => setImmediate(() => end(stream, headers)));
  };

/** What some other server answers. */
const page =
  (head: OutgoingHttpHeaders, body: string | Buffer): Answer =>
  (stream) => {
    stream.respond(head);
    stream.end(body);
  };

const ofStatus = (status: string) => answerWith({ "grpc-status": status });
const ofBody = (body: Uint8Array) =>
  answerWith({ "grpc-status": "0" }, { body: Buffer.from(body) });
const ofGzip = (message: Uint8Array) =>
  answerWith(
    { "grpc-status": "0" },
    { head: { ...grpcHead, "grpc-encoding": "gzip" }, body: Buffer.from(wrapEnvelope(1, message)) },
  );
const tooLarge = wrapEnvelope(0, Buffer.alloc(5000));

const badGateway = { ":status": 502, "content-type": "text/html" };
const notGrpc = "HTTP status 502 with text/html, which is not gRPC";
const lost = "the connection was lost";
const noStatus = "the answer ended without a gRPC status";
const backSoon = { ":status": 200, "grpc-status": "14", "grpc-message": "back%20soon" };

describe.each(kindNames)("an error is told as what it is, to a %s:", (kind) => {
  const { NotFound, Internal, InvalidArgument, ResourceExhausted, Unavailable, Unknown } = Code;
  const told = invalid.rawMessage;
  test.each<[what: string, Answer, code: Code, message: string | RegExp]>([
    ["one with details", answerWith(statusOf(invalid)), InvalidArgument, told],
    ["one alone", answerAtOnce({ ...grpcHead, ...statusOf(invalid) }), InvalidArgument, told],
    ["one without a content type", answerAtOnce(backSoon), Unavailable, "back soon"],
    ["a page of a proxy", page(badGateway, "<h1>No</h1>".repeat(10_000)), Unavailable, notGrpc],
    [
      "an error page that claims to be gRPC",
      answerWith({ "grpc-status": "0" }, { head: { ...grpcHead, ":status": 502 } }),
      Unavailable,
      "HTTP status 502 with application/grpc+proto, which is not gRPC",
    ],
    [
      "a page of some other server",
      page({ ":status": 200, "content-type": "text/html; charset=utf-8" }, "<h1>Welcome</h1>"),
      Unknown,
      /^HTTP status 200 with text\/html/,
    ],
    ["no such page", answerAtOnce({ ":status": 404 }), Code.Unimplemented, /^HTTP status 404/],
    ["no status, as of a proxy that drops trailers", page(grpcHead, one), Internal, noStatus],
    ["trailers without a status", answerWith({ "x-behind": "1" }), Internal, noStatus],
    ["a status before alone", page({ ...grpcHead, "grpc-status": "0" }, one), Internal, noStatus],
    ["0 early, 13 late", early("0", { "grpc-status": "13" }), Internal, ""],
    ["5, then 5", early("5", { "grpc-status": "5", "grpc-message": "late" }), NotFound, "late"],
    ["a status that is none", ofStatus("fine"), Internal, "invalid grpc-status: fine"],
    ["a status below all others", ofStatus("-1"), Internal, "invalid grpc-status: -1"],
    ["a success that is none", ofStatus("00"), Unknown, ""],
    ["no known status", answerWith({ "grpc-status": "17", "grpc-message": "x" }), Unknown, "x"],
    ["a reset", (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR), Internal, /INTERNAL/],
    ["a cut connection", afterMessage((stream) => stream.session?.destroy()), Unavailable, lost],
    ["a message cut short", ofBody(Buffer.alloc(4)), Internal, /amid a message/],
    ["no message", ofBody(wrapEnvelope(0, Buffer.of(0xff))), Internal, /^the answer is no lib/],
    ["a reserved flag", ofBody(wrapEnvelope(2, none)), Internal, /invalid envelope flags 2$/],
    ["an unnamed compression", ofBody(wrapEnvelope(1, gzipSync(one))), Internal, /with nothing/],
    ["what is no gzip", ofGzip(one), Internal, /cannot be decompressed/],
    ["gzip cut short", ofGzip(gzipSync(one).subarray(0, -1)), Internal, /cannot be decompressed/],
    [
      "a message over the limit that never ends",
      (stream) => {
        stream.respond(grpcHead);
        stream.write(tooLarge);
      },
      ResourceExhausted,
      /larger than/,
    ],
  ])("%s", async (_, answer, code, message) => {
    await using fake = await openFakeServer(answer, { readMaxBytes: 4096 });
    expect(await outcomeOf(fake, kind)).toMatchObject({
      code,
      rawMessage: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });

  test.each<[trailers: OutgoingHttpHeaders, message: string, details: number]>([
    [{ "grpc-message": " 50% done: " }, " 50% done: ", 0],
    [{ "grpc-message": "50%20% done" }, "50 % done", 0],
    [{ "grpc-message": "a%FFb" }, "a%FFb", 0],
    [{ "grpc-message": "%C3%bc" }, "ü", 0],
    [{ "grpc-status-details-bin": "!!!" }, "gone", 0],
    [{ "grpc-status-details-bin": "////" }, "gone", 0],
    [{ "grpc-status-details-bin": detailsOf(5, "gone") }, "gone", 1],
    [{ "grpc-status-details-bin": detailsOf(3, "other") }, "gone", 1],
    [{ "grpc-status-details-bin": detailsOf(0, "") }, "gone", 1],
    [{ "grpc-message": "", "grpc-status-details-bin": detailsOf(5, "went") }, "went", 1],
  ])("its code, and with %j its message %j", async (given, message, count) => {
    const trailers = { "grpc-status": "5", "grpc-message": "gone", ...given };
    for (const answer of [answerWith(trailers), answerAtOnce({ ...grpcHead, ...trailers })]) {
      await using fake = await openFakeServer(answer);
      expect(await outcomeOf(fake, kind)).toMatchObject({
        code: Code.NotFound,
        rawMessage: message,
        details: Array.from({ length: count }, () => ({ type: "google.rpc.BadRequest" })),
      });
    }
  });

  test.each([
    ["alone", grpcHead],
    ["and a status before", { ...grpcHead, "grpc-status": "0" }],
  ])("with its details, and what came before and behind: headers %s", async (_, given) => {
    const head = { ...given, "x-before": "1", "x-before-bin": "AAE" };
    const trailers = { ...statusOf(invalid), "x-behind": "2" };
    await using fake = await openFakeServer(answerWith(trailers, { head, body: none }));
    const error = (await outcomeOf(fake, kind)) as AnswerError;
    expect(error).toBeInstanceOf(AnswerError);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([wrongField]);
    const { header, trailer, metadata } = error;
    expect([header.get("x-before"), header.get("x-behind")]).toEqual(["1", null]);
    expect([trailer.get("x-before"), trailer.get("x-behind")]).toEqual([null, "2"]);
    expect(["x-before-bin", "x-behind"].map((name) => metadata.get(name))).toEqual(["AAE", "2"]);
  });
});

test.each(kindNames)("an error without a message has its fields once, to a %s", async (kind) => {
  const trailers = { ...grpcHead, ...statusOf(invalid), "x-behind": "2" };
  await using fake = await openFakeServer(answerAtOnce(trailers));
  const error = (await outcomeOf(fake, kind)) as AnswerError;
  expect(error).toBeInstanceOf(AnswerError);
  const { header, trailer, metadata, isWireError } = error;
  expect([...header]).toEqual([]);
  expect([trailer, metadata].map((all) => all.get("x-behind"))).toEqual(["2", "2"]);
  expect(isWireError).toBe(true);
});

describe.each(kindNames)("an answer that is not gRPC has no metadata, to a %s:", (kind) => {
  const page = { ":status": 502, "content-type": "text/html", "set-cookie": "a=1", etag: "b" };
  test.each<[what: string, head: OutgoingHttpHeaders, code: Code]>([
    ["an error page", page, Code.Unavailable],
    ["a page with a status of gRPC", { ...page, ...statusOf(invalid) }, Code.InvalidArgument],
    ["gRPC-Web", { ...page, "content-type": "application/grpc-web" }, Code.Unavailable],
  ])("%s", async (_what, head, code) => {
    for (const answer of [answerAtOnce(head), answerWith({}, { head })]) {
      await using fake = await openFakeServer(answer);
      const error = (await outcomeOf(fake, kind)) as AnswerError;
      expect(error).toBeInstanceOf(AnswerError);
      const { header, trailer, metadata } = error;
      expect([error.code, [...header, ...trailer, ...metadata]]).toEqual([code, []]);
    }
  });
});

test.each(kindNames)("an error that no server has answered is no answer, to a %s", async (kind) => {
  await using fake = await openFakeServer((stream) => stream.session?.destroy());
  const error = await outcomeOf(fake, kind);
  expect(error).toBeInstanceOf(ConnectError);
  expect(error).not.toBeInstanceOf(AnswerError);
});

/** By the table of PROTOCOL-HTTP2. */
test.each(
  (
    [
      [constants.NGHTTP2_NO_ERROR, Code.Internal],
      [constants.NGHTTP2_REFUSED_STREAM, Code.Unavailable],
      [constants.NGHTTP2_CANCEL, Code.Canceled],
      [constants.NGHTTP2_CONNECT_ERROR, Code.Internal],
      [constants.NGHTTP2_ENHANCE_YOUR_CALM, Code.ResourceExhausted],
      [constants.NGHTTP2_INADEQUATE_SECURITY, Code.PermissionDenied],
    ] as const
  ).flatMap(([reset, code]) => kindNames.map((kind) => [reset, code, kind] as const)),
)("a reset of %i is %i, before an answer and amid it, to a %s", async (reset, code, kind) => {
  for (const [count, before] of ["nothing", "headers", "a message"].entries()) {
    await using raw = await openRaw((_, id) =>
      Buffer.concat([...answerFrames(id, [one]).slice(0, count), resetFrame(id, reset)]),
    );
    // The proxy tells an overloaded server by its cause.
    const isCalm = reset === constants.NGHTTP2_ENHANCE_YOUR_CALM;
    const cause = isCalm ? { cause: { code: "ERR_HTTP2_STREAM_ERROR" } } : {};
    const whole = kind === "server stream" ? { before: count === 2 ? [{}] : [] } : {};
    expect(await outcomeOf(raw, kind), before).toMatchObject({ code, ...cause, ...whole });
    expect(raw.sockets.length).toBe(1);
  }
});

test.each(kindNames)("a status before a message counts for nothing, to a %s", async (kind) => {
  await using fake = await openFakeServer(early("5", { "grpc-status": "0" }));
  expect(await outcomeOf(fake, kind)).toMatchObject({ value: expect.anything() });
});

test.each<[what: string, frames: (id: number) => readonly Buffer[], outcome: object]>([
  ["success", (id) => answerFrames(id, [one, ...empties]), { value: expect.anything() }],
  ["error", (id) => [notFound(id)], { code: Code.NotFound }],
  ["no status", (id) => [headersFrame(id, grpcFields), lastFrame(id)], { code: Code.Internal }],
])("an answer of %s ends its stream though its requests go on", async (_, frames, outcome) => {
  await using raw = await openRaw((_, streamId) => Buffer.concat(frames(streamId)));
  const over = Promise.withResolvers<void>();
  async function* requests() {
    yield {};
    await over.promise;
  }
  expect(await settled(raw.catalog.importVolumes(requests()))).toMatchObject(outcome);
  over.resolve();
});

describe.each(["unary", "client stream"])("a %s has one message:", (kind) => {
  test.each([
    ["no message", none, /no message|missing response message/],
    ["two messages", Buffer.alloc(10), /more than one|extra message/],
  ])("%s", async (_, body, message) => {
    await using fake = await openFakeServer(answerWith({ "grpc-status": "0" }, { body }));
    const rawMessage = expect.stringMatching(message);
    expect(await outcomeOf(fake, kind)).toMatchObject({ code: Code.Unimplemented, rawMessage });
  });
});

test("an answer that is lost with its connection is no answer without a message", async () => {
  const title = "y".repeat(50_000);
  const message = wrapEnvelope(0, toBinary(VolumeSchema, create(VolumeSchema, { title })));
  const pieces = [0, 1, 2, 3].map((n) => message.subarray(n * 16_384, (n + 1) * 16_384));
  await using raw = await openRaw((_, streamId) =>
    Buffer.concat([...answerFrames(streamId, pieces), Buffer.alloc(64, 0xa5)]),
  );
  const outcome = await within("its end", raw.catalog.getVolume({})).then(
    (volume) => volume.title,
    (error: ConnectError) => error.code,
  );
  expect([Code.Unavailable, title]).toContain(outcome);
});

test.each([
  ["with its headers", { endStream: true }],
  ["after them", {}],
])("an answer that ends %s ends a call whose request the server does not read", async (_, how) => {
  await using fake = await openFakeServer((stream) => {
    stream.pause();
    stream.respond(grpcHead, how);
    stream.end();
  });
  const volume = { title: "x".repeat(1_000_000) };
  const failure = await failureOf(fake.catalog.createVolume({ volume }));
  expect(failure).toMatchObject({ code: Code.Internal, rawMessage: noStatus });
});
