import type { Code } from "@connectrpc/connect";
import { expect } from "vitest";

/** The contract of every REST answer that is not 2xx. */
export function expectRestError(
  { headers, body }: { headers: Pick<Headers, "get">; body: Buffer | string },
  expected: { error: Code; message?: string | RegExp },
): void {
  const json = JSON.parse(body.toString("utf8"));
  expect(headers.get("content-type")).toBe("application/json");
  expect(Object.keys(json)).toEqual(["error", "message"]);
  expect(json.error).toBe(expected.error);
  expect(json.message).toMatch(/^\P{Cc}{1,256}$/u);
  expect(json.message.isWellFormed()).toBe(true);
  if (expected.message !== undefined) expect(json.message).toMatch(expected.message);
}
