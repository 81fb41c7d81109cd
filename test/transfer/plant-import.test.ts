/** What an import does about each way in which a call can fail. */
import type { IncomingHttpHeaders } from "node:http";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type { NodeHandler } from "connect-gateway";
import { AnswerError } from "connect-gateway/client";
import { RetryInfoSchema } from "connect-gateway/protos";
import { describe, expect, test, vi } from "vitest";
import { openHandler } from "../../packages/gateway/test/support/gateway.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createPlantCreator } from "../../src/transfer/grpc-client.ts";
import { createPlantImport, type Rejection } from "../../src/transfer/plant-import.ts";
import type { Row } from "../../src/transfer/row.ts";
import { judge } from "../../src/transfer/verdict.ts";
import { plantOf } from "../store/plant-of.ts";

const rowOf = (line: number): Row => ({ kind: "plant", line, plant: plantOf(BigInt(line)) });

interface Setup {
  readonly rows: number | AsyncIterable<Row>;
  /** Called with each plant's id, and how often it was tried before. */
  readonly answer: (id: bigint, triesBefore: number) => unknown;
  readonly concurrency?: number;
  readonly retryForMs?: number;
  readonly signal?: AbortSignal;
  readonly onRejected?: (rejection: Rejection) => Promise<void>;
}

async function run({ rows, answer, ...options }: Setup) {
  const rejections: Rejection[] = [];
  const tries = new Map<bigint, number>();
  async function create({ id }: { readonly id: bigint }) {
    const before = tries.get(id) ?? 0;
    tries.set(id, before + 1);
    const error = await answer(id, before);
    if (error !== undefined) throw error;
  }
  async function* count() {
    for (let line = 1; line <= Number(rows); line++) yield rowOf(line);
  }
  const plantImport = createPlantImport(
    { create, close: () => {} },
    {
      ...{ concurrency: 4, retryForMs: 60_000, signal: new AbortController().signal },
      onRejected: async (rejection) => void rejections.push(rejection),
      ...options,
    },
  );
  const given = typeof rows === "number" ? count() : rows;
  const end = await within("the end of the import", plantImport.run(given));
  return { end, rejections, tries, state: plantImport.state };
}

/** As a server answers: with headers. */
function answered(code: Code, delayMs?: number, head: IncomingHttpHeaders = {}): ConnectError {
  const value = { retryDelay: durationFromMs(delayMs ?? 0) };
  const details = delayMs === undefined ? [] : [{ desc: RetryInfoSchema, value }];
  const error = new ConnectError("told so", code, undefined, details);
  return new AnswerError(error, head, {});
}

/** As our side of a connection fails. */
function lost(code: string): ConnectError {
  return ConnectError.from(Object.assign(new Error("lost"), { code }), Code.Unavailable);
}

describe("a row that fails once", () => {
  test.each([
    ["UNAVAILABLE", answered(Code.Unavailable)],
    ["DEADLINE_EXCEEDED", answered(Code.DeadlineExceeded)],
    ["ABORTED", answered(Code.Aborted)],
    ["INTERNAL", answered(Code.Internal)],
    ["RESOURCE_EXHAUSTED with a time to wait", answered(Code.ResourceExhausted, 5)],
    ["a connection that is refused", lost("ECONNREFUSED")],
    ["a connection that is lost", lost("ECONNRESET")],
    ["a stream that is reset", new ConnectError("reset", Code.ResourceExhausted)],
    ["no answer in time", new ConnectError("the operation timed out", Code.DeadlineExceeded)],
  ])("is tried again after %s", async (_, error) => {
    const answer = (id: bigint, before: number) => (id === 2n && before === 0 ? error : undefined);
    const { end, tries, state } = await run({ rows: 3, answer });
    expect(end).toEqual({ kind: "complete" });
    expect([...tries.values()]).toEqual([1, 2, 1]);
    expect(state).toEqual({ stored: 3, rejected: 0, firstOpenLine: 4 });
  });

  test.each([
    ["INVALID_ARGUMENT", answered(Code.InvalidArgument)],
    ["ALREADY_EXISTS", answered(Code.AlreadyExists)],
    ["FAILED_PRECONDITION", answered(Code.FailedPrecondition)],
    ["OUT_OF_RANGE", answered(Code.OutOfRange)],
    ["RESOURCE_EXHAUSTED without a time to wait", answered(Code.ResourceExhausted)],
    [
      "one that waits for weeks",
      answered(Code.ResourceExhausted, undefined, { "retry-after": "1000000" }),
    ],
  ])("is rejected after %s, and the others go on", async (_, error) => {
    const answer = (id: bigint) => (id === 2n ? error : undefined);
    const { end, tries, rejections, state } = await run({ rows: 3, answer });
    expect(end).toEqual({ kind: "complete" });
    expect(tries.get(2n)).toBe(1);
    const row = '{"id":2,"name":"plant 2","tag":"tag 2"}';
    expect(rejections).toEqual([{ line: 2, reason: "told so", row }]);
    expect(state).toMatchObject({ stored: 2, rejected: 1 });
  });

  test.each([
    ["UNAUTHENTICATED", answered(Code.Unauthenticated), /^the server rejects the token/],
    ["PERMISSION_DENIED", answered(Code.PermissionDenied), /^the server rejects the token/],
    ["UNIMPLEMENTED", answered(Code.Unimplemented), /^there is no plant store at the URL/],
    ["NOT_FOUND", answered(Code.NotFound), /^there is no plant store at the URL/],
    ["a certificate that is not trusted", lost("DEPTH_ZERO_SELF_SIGNED_CERT"), /--ca/],
  ])("stops the import at once after %s", async (_, error, reason) => {
    const answer = (id: bigint) => (id >= 3n ? error : undefined);
    const { end, tries, state } = await run({ rows: 1000, answer });
    expect(end).toEqual({ kind: "failed", reason: expect.stringMatching(reason) });
    expect(tries.size).toBeLessThan(20);
    expect(state).toMatchObject({ stored: 2, firstOpenLine: 3 });
  });
});

test.each([
  ["ECONNRESET", "ECONNRESET"],
  ["ERR_HTTP2_ERROR", "lost"], // stands for many
  ["EPROTO", "lost"],
])("a connection that fails with %s is told as %s", (code, reason) => {
  expect(judge(lost(code))).toMatchObject({ kind: "temporary", reason });
});

test.each([
  ["in its details", 120, answered(Code.Unavailable, 120)],
  ["in a header", 1000, answered(Code.Unavailable, undefined, { "retry-after": "1" })],
])("the time that a server wants to be left alone is kept: %s", async (_, ms, error) => {
  const at: number[] = [];
  const answer = (_: bigint, before: number) => {
    at.push(performance.now());
    return before === 0 ? error : undefined;
  };
  await run({ rows: 1, answer });
  const [first = 0, second = 0] = at;
  // A timer may be a millisecond early, as clocks are rounded.
  expect(second - first).toBeGreaterThanOrEqual(ms - 2);
});

test("a row that is rejected for too long ends the import, and all before it are done", async () => {
  const answer = (id: bigint) => (id === 7n ? lost("ECONNREFUSED") : undefined);
  const { end, state } = await run({ rows: 9, answer, retryForMs: 0 });
  const reason = "the server did not accept line 7: ECONNREFUSED";
  expect([end, state.firstOpenLine]).toEqual([{ kind: "failed", reason }, 7]);
});

test.each([
  ["while others are accepted", 9, 0, 4, "complete"],
  ["after a time in which the process was stopped", 1, 90_000, 3, "complete"],
  ["until the time is over", 1, 20_000, 5, "failed"],
])("a row is tried again %s", async (_, rows, pauseMs, triesOfFirst, kind) => {
  let clock = 0;
  using _now = vi.spyOn(performance, "now").mockImplementation(() => clock);
  const answer = (id: bigint, before: number) => {
    if (id !== 1n) clock += 30_000;
    else setImmediate(() => (clock += pauseMs));
    const fails = id === 1n && (kind === "failed" || before < triesOfFirst - 1);
    return fails ? answered(Code.ResourceExhausted, 5) : undefined;
  };
  const { end, tries } = await run({ rows, answer });
  expect([end.kind, tries.get(1n)]).toEqual([kind, triesOfFirst]);
});

test.each([
  ["allowed", 3, ""],
  ["fit into memory", 1, "x".repeat(2 ** 24 + 1)],
])("no more calls are in flight than %s, and rows are read no faster", async (_, max, name) => {
  let inFlight = 0;
  let most = 0;
  let read = 0;
  let ahead = 0;
  let done = 0;
  async function* counted() {
    for (let line = 1; line <= 50; line++) {
      ahead = Math.max(ahead, ++read - done);
      yield { kind: "plant", line, plant: { id: BigInt(line), name } } as const;
    }
  }
  const answer = async () => {
    most = Math.max(most, ++inFlight);
    await new Promise(setImmediate);
    inFlight--;
    done++;
  };
  await run({ rows: counted(), answer, concurrency: 3 });
  expect({ most, done }).toEqual({ most: max, done: 50 });
  expect(ahead).toBeLessThanOrEqual(2 * max);
});

test("rejections are told in the order of the file, whatever order they come in", async () => {
  const answers = [0, 1, 2, 3, 4].map(() => Promise.withResolvers<unknown>());
  const answer = (id: bigint) => {
    // The last call is answered first.
    answers[Number(id) + 1]?.promise.then(answers[Number(id)]?.resolve);
    if (id === 4n) answers[4]?.resolve(answered(Code.AlreadyExists));
    return answers[Number(id)]?.promise;
  };
  const { rejections, state } = await run({ rows: 4, answer });
  expect(rejections.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
  expect(state).toMatchObject({ rejected: 4, firstOpenLine: 5 });
});

test("rejections behind a row that the import gave up are told at its end, in order", async () => {
  const answer = async (id: bigint) => {
    if (id === 1n) return new Promise((resolve) => setImmediate(resolve, answered(Code.Internal)));
    return answered(Code.AlreadyExists);
  };
  const { end, rejections, state } = await run({ rows: 4, answer, retryForMs: 0 });
  expect({ ...end, ...state }).toMatchObject({ kind: "failed", rejected: 3, firstOpenLine: 1 });
  expect(rejections.map(({ line }) => line)).toEqual([2, 3, 4]);
});

test("one that is stopped lets calls end, begins no other, and tells how far it is", async () => {
  const stop = new AbortController();
  const answer = async (id: bigint) => {
    if (id === 10n) stop.abort();
    await new Promise(setImmediate);
  };
  const { end, tries, state } = await run({ rows: 50, answer, signal: stop.signal });
  expect(end).toEqual({ kind: "interrupted" });
  expect(tries.size).toBeLessThan(20);
  expect(state).toMatchObject({ stored: tries.size, firstOpenLine: tries.size + 1 });
});

test("one that is stopped before it begins, or while it waits for a server, ends at once", async () => {
  const none = await run({ rows: 50, answer: () => {}, signal: AbortSignal.abort() });
  expect([none.end, none.tries.size]).toEqual([{ kind: "interrupted" }, 0]);
  const stop = new AbortController();
  const answer = () => {
    setImmediate(() => stop.abort());
    return answered(Code.Unavailable, 30_000);
  };
  const { end, state } = await run({ rows: 5, answer, signal: stop.signal });
  expect(end).toEqual({ kind: "interrupted" });
  expect(state).toMatchObject({ stored: 0, firstOpenLine: 1 });
});

test("each call has a deadline: a server may be there, and never answer", async () => {
  const handler = vi.fn<NodeHandler>((_, response) => void response.end());
  await using server = await openHandler(handler);
  const creator = createPlantCreator({ url: server.origin("2"), token: "any" });
  await expect(creator.create(plantOf(1n))).rejects.toThrow(ConnectError);
  creator.close();
  expect(handler.mock.calls[0]?.[0].headers["grpc-timeout"]).toMatch(/^1\d{4}m$/);
});

test.each(["the rows", "who is told of rejections"])("a failure of %s is thrown", async (whose) => {
  async function* failing(): AsyncGenerator<Row> {
    yield rowOf(1);
    if (whose === "the rows") throw new Error("broken");
    yield { kind: "malformed", line: 2, reason: "" };
  }
  const onRejected = () => Promise.reject(new Error("broken"));
  const broken = run({ rows: failing(), answer: () => undefined, onRejected });
  await expect(broken).rejects.toThrow("broken");
});
