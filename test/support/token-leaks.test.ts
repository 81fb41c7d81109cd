import { mintToken } from "connect-gateway-proxy/auth";
import { describe, expect, test } from "vitest";
import { forge, goodClaims } from "../../packages/proxy/test/support/auth/issuer.ts";
import { createRecordedLog } from "../../packages/proxy/test/support/recorded-log.ts";
import {
  findToken,
  knownToken,
  takeLeaks,
  watchForTokens,
} from "../../packages/proxy/test/support/token-leaks.ts";
import { runInProcess } from "./run-in-process.ts";

const minted = mintToken("plst_");
const jwt = forge({ alg: "none" }, goodClaims(), "");

const leaking: readonly [what: string, text: string, token: string][] = [
  ["the token of the tests", `token ${knownToken} was used`, knownToken],
  ["a new token", `2026-01-02T03:04:05Z info made ${minted}\n`, minted],
  ["a JWT", `refused: ${jwt}`, jwt],
  ["a header", "authorization: Bearer one-one-one-one-one", "Bearer one-one-one-one-one"],
];
test.each(leaking)("%s is found in a log", (_what, text, token) => {
  expect(findToken(text, "log")).toBe(token);
  expect(findToken(text, "stderr")).toBe(token);
});

test("a new token may be shown on standard output, and no other", () => {
  expect(findToken(`-H "Authorization: Bearer ${minted}"`, "stdout")).toBeUndefined();
  expect(findToken(knownToken, "stdout")).toBe(knownToken);
  expect(findToken(jwt, "stdout")).toBe(jwt);
});

test.each([
  "send the header Authorization: Bearer <token>",
  'Bearer realm="plant-store", error="invalid_token"',
  '-H "Authorization: Bearer $TOKEN"',
  "the bearer token is unknown or revoked",
  "plst_",
])("%s is not a token", (text) => {
  expect(findToken(text, "log")).toBeUndefined();
});

describe("a token fails the test", () => {
  const ways: readonly [way: string, write: () => void | Promise<void>][] = [
    ["in a message of a log", () => createRecordedLog().info(`hello ${knownToken}`)],
    ["in the cause", () => createRecordedLog().warn("no", new Error(`bad ${knownToken}`))],
    [
      "in what hangs on the cause",
      () => createRecordedLog().error("no", { request: { headers: { token: knownToken } } }),
    ],
    [
      "that comes in pieces",
      () => {
        watchForTokens(knownToken.slice(0, 9), "stderr");
        watchForTokens(knownToken, "stderr");
      },
    ],
    [
      "from a command in this process",
      async () => {
        await runInProcess([knownToken]);
      },
    ],
  ];
  test.each(ways)("%s", async (_way, write) => {
    await write();
    const leaks = takeLeaks();
    expect(leaks).toHaveLength(1);
    expect(leaks[0]).toContain(knownToken);
  });
});
