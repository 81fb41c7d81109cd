/** What went wrong with us is written once: by logFailures, and not by the gateway as well. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { describeError, type Log, logFailures } from "../../src/logging/log-failures.ts";
import { CatalogService, get, openShelves, send } from "../support/catalog.ts";
import { collect } from "../support/collect.ts";
import { jsonOf } from "../support/gateway.ts";

const broken = new Error("disk I/O error");
const lost = new Error("store lost", { cause: broken });
const wrong = Object.assign(new ConnectError("no", Code.InvalidArgument), { cause: lost });

const requests = {
  rest: get("/v1/volumes/1"),
  "rest, with a stream,": get("/v1/shelves/a/volumes:watch"),
  connect: send("POST", `/${CatalogService.typeName}/GetVolume`, {}),
};

const message = expect.stringMatching(/^library.v1.CatalogService\/(Get|Watch)Volumes? failed$/);

describe.each(Object.entries(requests))("over %s", (_protocol, request) => {
  test.each<[what: string, error: unknown, status: number, lines: object[]]>([
    ["a mistake", broken, 500, [{ level: "error", message, cause: broken }]],
    [
      "an unavailable store",
      new ConnectError("try again", Code.Unavailable, undefined, undefined, lost),
      503,
      [{ level: "warn", message, cause: broken }],
    ],
    ["what is wrong with a request", wrong, 400, []],
  ])("%s", async (_what, error, status, lines) => {
    const written: object[] = [];
    const write = (level: keyof Log) => (message: string, cause?: unknown) =>
      written.push({ level, message, cause });
    const log = { info: write("info"), warn: write("warn"), error: write("error") };
    const getVolume = () => Promise.reject(error);
    // The gateway fails the test if its onError hears of anything.
    await using gateway = await openShelves(
      { getVolume, watchVolumes: () => ({ [Symbol.asyncIterator]: () => ({ next: getVolume }) }) },
      { interceptors: [logFailures(log)] },
    );
    const response = await gateway.send(request);
    expect(response.status).toBe(status);
    expect(written).toEqual(lines);
    if (status === 500) expect(jsonOf(response)).toMatchObject({ message: "internal error" });
  });
});

test("there is at most one line a second, and each counts the calls since the last", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const lines: string[] = [];
  const log = { info: () => {}, warn: () => {}, error: (line: string) => void lines.push(line) };
  await using gateway = await openShelves(
    { getVolume: () => Promise.reject(broken) },
    { interceptors: [logFailures(log)] },
  );
  for (const calls of [3, 2, 1]) {
    for (let call = 0; call < calls; call++) await gateway.send(requests.rest);
    vi.advanceTimersByTime(1000);
  }
  expect(lines).toEqual([
    expect.stringMatching(/GetVolume failed$/),
    expect.stringMatching(/GetVolume failed \(and 2 more calls since the last line\)$/),
    expect.stringMatching(/GetVolume failed \(and 1 more calls since the last line\)$/),
  ]);
});

test("a mistake is told although its client has left; what ended the call or its stream is none", async () => {
  const log = { info: () => {}, warn: () => {}, error: vi.fn() };
  const request = { signal: AbortSignal.abort(lost), method: CatalogService.method.getVolume };
  const call = (reason: Error) => logFailures(log)(() => Promise.reject(reason))(request as never);
  await expect(call(lost)).rejects.toBe(lost);
  expect(log.error).not.toHaveBeenCalled();
  await expect(call(broken)).rejects.toMatchObject({ code: Code.Internal });
  const message = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(broken) }) };
  const answer = () => Promise.resolve({ stream: true, message } as never);
  const watched = await logFailures(log)(answer)({ ...request, stream: true } as never);
  await expect(collect(watched.message as never)).rejects.toBe(broken);
  expect(log.error).toHaveBeenCalledOnce();
});

test("what hangs on an error stays there: it may be what a client sent; a line has room for the rest", () => {
  const error = Object.assign(new TypeError("no"), { code: "23505", detail: "Key (id)=(1)", n: 1 });
  const told = { type: "TypeError", message: "no", code: "23505", stack: error.stack };
  expect(describeError(error)).toEqual(told);
  expect(describeError(Object.assign(new Error("no"), { code: 6 })).code).toBeUndefined();
  const long = JSON.stringify(describeError(new Error("\0".repeat(100_000))));
  expect(long.length).toBeLessThan(64 * 1024);
});

test("causes are told, each with its stack; those that go round come to an end", () => {
  const inner = new Error("inner");
  const outer = new Error("outer", { cause: inner });
  expect(describeError(outer).stack).toBe(`${outer.stack}\ncaused by: ${inner.stack}`);
  const odd = new Error("odd", { cause: "a text" });
  expect(describeError(odd).stack).toBe(odd.stack);
  const error = new Error("round");
  error.cause = error;
  expect(describeError(error).stack.split("caused by: ")).toHaveLength(8);
});
