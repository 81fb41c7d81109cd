/** Unary calls of the client, against servers that answer as they should, and as they should not. */
import { constants } from "node:http2";
import { gzipSync } from "node:zlib";
import { toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test, vi } from "vitest";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { CatalogService, VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { answerOk, answerWith, call, failureOf, grpcHead, openFakeServer } from "./fake-server.ts";

const emma = {
  $typeName: "library.v1.Volume",
  id: 2n ** 53n + 1n,
  name: "",
  title: "Emma",
} as const;
const volume = Buffer.from(toBinary(VolumeSchema, emma));

test.each([
  ["plain", 0, volume],
  ["in gzip", 1, gzipSync(volume)],
] as const)("an answer has its headers, message and trailers: %s", async (_, flags, message) => {
  const asked: unknown[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    asked.push(headers);
    const head = { ...grpcHead, "grpc-encoding": "gzip", "x-before": "1" };
    const body = Buffer.from(wrapEnvelope(flags, message));
    answerWith({ "grpc-status": "0", "x-behind": "2" }, { head, body })(stream, headers);
  });
  const told: (string | null)[] = [];
  const answer = await call(fake, {
    onHeader: (header: Headers) => told.push(header.get("x-before")),
    onTrailer: (trailer: Headers) => told.push(trailer.get("x-behind")),
  });
  expect(answer).toMatchObject({ id: 9007199254740993n, title: "Emma" });
  expect(told).toEqual(["1", "2"]);
  expect(asked).toMatchObject([{ "grpc-accept-encoding": "gzip" }]);
});

test("a call that has no answer in time ends, here and at the server, and others go on", async () => {
  const timeouts: string[] = [];
  await using fake = await openFakeServer((stream, headers) => {
    timeouts.push(`${headers["grpc-timeout"]}`);
    if (timeouts.length > 1) answerOk(stream, headers);
  });
  const error = await failureOf(call(fake, { timeoutMs: 200 }));
  expect(error).toMatchObject({ code: Code.DeadlineExceeded });
  expect(await fake.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
  using _clock = vi.spyOn(performance, "now").mockReturnValue(performance.now());
  for (const timeoutMs of [2 ** 40, 1e8, 1e8 - 1, 0]) await call(fake, { timeoutMs });
  expect(fake.sessions).toHaveLength(1);
  // Never more than was given: some of it has passed.
  const [short = "", ...others] = timeouts;
  expect(short).toMatch(/^\d+m$/);
  expect(Number.parseInt(short, 10)).toBeLessThanOrEqual(200);
  expect(others).toEqual(["undefined", "100000S", "99999999m", "undefined"]);
});

test("a call that has no time left does not go out", async () => {
  await using fake = await openFakeServer(answerOk);
  const { code } = await failureOf(call(fake, { timeoutMs: 0.5 }));
  expect(code).toBe(Code.DeadlineExceeded);
  expect(fake.sessions).toEqual([]);
});

test.each([
  ["another reason", undefined, { code: Code.Canceled, cause: { name: "AbortError" } }],
  ["an error of its own", new ConnectError("over", Code.Aborted), { code: Code.Aborted }],
])("who leaves ends the call, here and at the server, with %s", async (_what, reason, error) => {
  const leaving = new AbortController();
  await using fake = await openFakeServer(() => leaving.abort(reason));
  const options = { signal: leaving.signal };
  expect(await failureOf(call(fake, options))).toMatchObject({ code: error.code });
  expect(await fake.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
  const { getVolume } = CatalogService.method;
  const again = fake.transport.unary(getVolume, leaving.signal, undefined, undefined, {});
  expect(await failureOf(again)).toMatchObject(error);
});
