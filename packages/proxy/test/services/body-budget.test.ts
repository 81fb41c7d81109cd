/** What an upstream answers counts in the budget of bodies, for the call that asked for it. */
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { BodyBudget } from "connect-gateway";
import { expect, test } from "vitest";
import { Holding } from "../../../gateway/src/http/body-budget.ts";
import { wrapEnvelope } from "../../../gateway/src/rpc/envelope.ts";
import { answerWith, grpcHead, openFakeServer } from "../../../gateway/test/client/fake-server.ts";
import { EveryFieldSchema, FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { collect } from "../../../gateway/test/support/collect.ts";
import { openProxy } from "./open-proxy.ts";

const KiB = 1024;
const large = "x".repeat(300 * KiB);
const message = toBinary(EveryFieldSchema, create(EveryFieldSchema, { string: large }));
const answers = { identity: wrapEnvelope(0, message), gzip: wrapEnvelope(1, gzipSync(message)) };

/** A proxy whose upstream answers so, and an older body of the caller's address, which may grow meanwhile. */
async function openFull(coding: keyof typeof answers, moreBytes = 0) {
  await using stack = new AsyncDisposableStack();
  const head = { ...grpcHead, "grpc-encoding": coding };
  const body = Buffer.from(answers[coding]);
  const budget = new BodyBudget({ bytesMax: 1024 * KiB });
  const older = new Holding(budget, { peerAddress: "127.0.0.1", headers: {} });
  void older.add(500 * KiB);
  const answer = answerWith({ "grpc-status": "0" }, { head, body });
  const fake = await openFakeServer((...call) => {
    budget.count(older, moreBytes);
    answer(...call);
  });
  const proxy = stack.use(await openProxy({ url: stack.use(fake).url, bodyBudget: budget }));
  const transport = createGrpcTransport({ baseUrl: proxy.origin("2"), readMaxBytes: 1e6 });
  const client = createClient(FieldService, transport);
  const calls = {
    unary: () => client.echo({}).then(({ string }) => string),
    stream: () => collect(client.repeat({})).then(([one]) => one?.string),
  };
  const opened = stack.move();
  return { budget, older, calls, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

test.each([
  ["unary", "identity"],
  ["unary", "gzip"],
  ["stream", "identity"],
  ["stream", "gzip"],
] as const)("the answer of a %s call, %s, waits for room", async (kind, coding) => {
  await using full = await openFull(coding);
  const { budget, older } = full;
  const called = full.calls[kind]();
  await expect.poll(() => budget.waiting, { interval: 5 }).toBeGreaterThan(0);
  older.release();
  expect(await called).toBe(large);
  await expect.poll(() => budget.heldBytes, { interval: 5 }).toBe(0);
});

test.each(["unary", "stream"] as const)(
  "that of a %s call that cannot wait is refused by the proxy, not by the upstream",
  async (kind) => {
    await using full = await openFull("identity", 350 * KiB);
    await expect(full.calls[kind]()).rejects.toThrow(/^\[internal\] the server has no room/);
  },
);
