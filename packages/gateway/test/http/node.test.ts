import { expect, test, vi } from "vitest";
import { continueWhenRead } from "../../src/http/request-exchange.ts";

test.each<[what: string, response: object, asked: number]>([
  ["over HTTP/1.1", { headersSent: false }, 1],
  ["over HTTP/2", { headersSent: false, stream: { destroyed: false, closed: false } }, 1],
  ["unless it is answered", { headersSent: true }, 0],
  [
    "unless its stream is destroyed",
    { headersSent: false, stream: { destroyed: true, closed: false } },
    0,
  ],
  [
    "unless its stream is closed",
    { headersSent: false, stream: { destroyed: false, closed: true } },
    0,
  ],
])("a body is asked for once, when it is first read, %s", (_what, given, asked) => {
  const read = vi.fn();
  const request = { _read: read } as unknown as Parameters<typeof continueWhenRead>[0];
  const writeContinue = vi.fn();
  const response = { ...given, writeContinue };
  continueWhenRead(request, response as unknown as Parameters<typeof continueWhenRead>[1]);
  expect(writeContinue).not.toHaveBeenCalled();
  for (const size of [1, 2]) request._read(size);
  expect(writeContinue).toHaveBeenCalledTimes(asked);
  expect(read.mock.calls).toEqual([[1], [2]]);
});
