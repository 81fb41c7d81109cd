import { expect, test } from "vitest";
import { hasAuth } from "../../src/auth/settings.ts";
import { SettingsError } from "../../src/settings/schema.ts";
import { type AuthOptions, resolveAuth } from "../support/auth/resolve-auth.ts";

const jwt = {
  jwksUrl: "https://issuer.example/keys",
  jwtIssuer: "https://issuer.example",
  jwtAudience: "plant-store",
};

function settingError(run: () => unknown): SettingsError {
  try {
    run();
  } catch (error) {
    if (error instanceof SettingsError) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}

test("all settings at once", () => {
  const tokens = ["sixteen-letters-", "token.with.dots==", ...Array(998).fill("x".repeat(8192))];
  const auth = { tokenFile: "data/tokens", tokens, ...jwt };
  expect(resolveAuth(auth)).toEqual(auth);
});

test.each<[AuthOptions, boolean]>([
  [{}, false],
  [{ tokenFile: "f" }, true],
  [{ tokens: ["sixteen-letters-"] }, true],
  [jwt, true],
])("%j lets somebody in: %s", (auth, expected) => {
  expect(hasAuth(resolveAuth(auth))).toBe(expected);
});

const wrong: readonly [options: AuthOptions, setting: string, problem: RegExp][] = [
  [{ tokenFile: "" }, "tokenFile", /empty/],
  [{ tokenFile: "f", tokens: [""] }, "tokens", /an empty item/],
  [{ tokenFile: "f", tokens: ["secret"] }, "tokens", /fewer than 16/],
  [{ tokenFile: "f", tokens: ["secret".repeat(3), "secret!".repeat(3)] }, "tokens", /token 2 of 2/],
  [{ tokenFile: "f", tokens: ["secret secret secret"] }, "tokens", /a character other/],
  [{ tokenFile: "f", tokens: ["secret".repeat(1366)] }, "tokens", /more than 8192/],
  [{ tokenFile: "f", tokens: Array(1001).fill("secret".repeat(3)) }, "tokens", /more than 1000/],
  [{ ...jwt, jwtIssuer: undefined }, "jwtIssuer", /required/],
  [{ ...jwt, jwtIssuer: "i\r" }, "jwtIssuer", /white space at an end/],
  [{ ...jwt, jwtAudience: undefined }, "jwtAudience", /required/],
  [{ ...jwt, tokenFile: "f", jwksUrl: undefined }, "jwtIssuer", /requires jwksUrl/],
  [{ tokenFile: "f", jwtAudience: "a" }, "jwtAudience", /requires jwksUrl/],
];
test.each(wrong)("%j: %s %s", (options, setting, problem) => {
  const error = settingError(() => resolveAuth(options));
  expect(error.problems[0]?.setting).toBe(setting);
  expect(error.message).toMatch(problem);
  expect(error.message.startsWith(`${setting}: `)).toBe(true);
  expect(error.message).not.toMatch(/secret|\n/);
});

test.each<[url: string, accepted: boolean]>([
  ["https://issuer.example/keys?a=b", true],
  ["http://localhost:8080/keys", true],
  ["http://127.0.0.1:1/keys", true],
  ["http://[::1]:1/keys", true],
  ["http://issuer.example/keys", false],
  ["http://127.0.0.1@evil.example/", false],
  ["http://0.0.0.0/keys", false],
  ["https://user@issuer.example/keys", false],
  ["https://:secret@issuer.example/keys", false],
  ["file:///etc/keys.json", false],
  ["issuer.example/keys", false],
  ["", false],
])("the key set at %j is accepted: %s", (jwksUrl, accepted) => {
  const read = () => resolveAuth({ ...jwt, jwksUrl });
  if (accepted) expect(read().jwksUrl).toBe(jwksUrl);
  else expect(settingError(read).problems).toMatchObject([{ setting: "jwksUrl" }]);
});
