import { expect, test, vi } from "vitest";
import { continueWhenRead, findRepeatedField } from "../../src/http/request-exchange.ts";

test.each([
  [[], undefined],
  [["content-type", "a", "authorization", "b"], undefined],
  [["x-a", "1", "x-a", "2", "content-typo", "a", "content-typo", "b"], undefined],
  // A value that is a name is none.
  [["x-a", "content-type", "content-type", "a"], undefined],
  [["authorisation", "a", "authorization", "a"], undefined],
  [["content-type", "a", "Content-Type", "a"], "Content-Type"],
  [["CONTENT-TYPE", "a", "content-type", "a"], "Content-Type"],
  [["Authorization", "a", "authorization", "b"], "Authorization"],
])("of %j, %s is repeated", (rawHeaders, repeated) => {
  expect(findRepeatedField(rawHeaders)).toBe(repeated);
});

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
