import { mintToken } from "connect-gateway-kit/auth/token-file";
import { expect, test } from "vitest";
import { forge, goodClaims } from "../../packages/kit/test/support/auth/issuer.ts";
import { createRecordedLog } from "../../packages/kit/test/support/recorded-log.ts";
import {
  findToken,
  knownToken,
  takeLeaks,
  watchForTokens,
} from "../../packages/kit/test/support/token-leaks.ts";
import { runInProcess } from "./run-in-process.ts";

const minted = mintToken("plst_");
const jwt = forge({ alg: "none" }, goodClaims(), "");

// A new token may be shown on standard output, and no other.
test.each([
  ["the token of the tests", `token ${knownToken} was used`, knownToken, knownToken],
  ["a new token", `2026-01-02T03:04:05Z info made ${minted}\n`, minted, undefined],
  ["a JWT", `refused: ${jwt}`, jwt, jwt],
  ["a header", "authorization: Bearer one-one-one-one", "Bearer one-one-one-one", undefined],
  ["an example", "send the header Authorization: Bearer <token>", undefined, undefined],
  ["a challenge", 'Bearer realm="plant-store", error="invalid_token"', undefined, undefined],
])("%s in a log, or on standard output", (_what, text, inLog, onStdout) => {
  expect([findToken(text, "log"), findToken(text, "stderr")]).toEqual([inLog, inLog]);
  expect(findToken(text, "stdout")).toBe(onStdout);
});

const request = { headers: { token: knownToken } };

test.each<[way: string, write: () => unknown]>([
  ["in a message of a log", () => createRecordedLog().info(`hello ${knownToken}`)],
  ["in the cause", () => createRecordedLog().warn("no", new Error(`bad ${knownToken}`))],
  ["in what hangs on the cause", () => createRecordedLog().error("no", { request })],
  ["that comes in pieces", () => [9, 99].map((n) => watchForTokens(knownToken.slice(0, n), "log"))],
  ["from a command in this process", () => runInProcess([knownToken])],
])("a token %s fails the test", async (_way, write) => {
  await write();
  expect(takeLeaks()).toEqual([expect.stringContaining(knownToken)]);
});
