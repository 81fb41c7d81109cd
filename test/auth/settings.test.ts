import { expect, test } from "vitest";
import { type AuthOptions, AuthSettingError, resolveAuthOptions } from "../../src/auth/settings.ts";

const jwt = {
  jwksUrl: "https://issuer.example/keys",
  jwtIssuer: "https://issuer.example",
  jwtAudience: "plant-store",
};

function settingError(run: () => unknown): AuthSettingError {
  try {
    run();
  } catch (error) {
    if (error instanceof AuthSettingError) return error;
    throw error;
  }
  throw new Error("nothing was wrong");
}

test("all settings at once", () => {
  const tokens = ["sixteen-letters-", "another.token.with.dots=="];
  expect(resolveAuthOptions({ tokenFile: "data/tokens", tokens, ...jwt })).toEqual({
    tokenFile: "data/tokens",
    tokens,
    jwt: {
      jwksUrl: new URL(jwt.jwksUrl),
      issuer: jwt.jwtIssuer,
      audience: jwt.jwtAudience,
    },
  });
});

test.each<AuthOptions>([{ tokenFile: "f" }, { tokens: ["sixteen-letters-"] }, jwt])(
  "one source of tokens is enough: %j",
  (options) => {
    expect(resolveAuthOptions(options)).toMatchObject({});
  },
);

const wrong: readonly [options: AuthOptions, setting: keyof AuthOptions, problem: RegExp][] = [
  [{}, "tokenFile", /is required unless/],
  [{ tokens: [] }, "tokenFile", /is required unless/],
  [{ tokenFile: "" }, "tokenFile", /empty/],
  [{ tokenFile: "f", tokens: [""] }, "tokens", /token 1 of 1 is empty/],
  [{ tokenFile: "f", tokens: ["secret"] }, "tokens", /fewer than 16/],
  [{ tokenFile: "f", tokens: ["secret".repeat(3), "secret!".repeat(3)] }, "tokens", /token 2 of 2/],
  [{ tokenFile: "f", tokens: ["secret secret secret"] }, "tokens", /a character other/],
  [{ tokenFile: "f", tokens: ["=".repeat(16)] }, "tokens", /a character other/],
  [{ tokenFile: "f", tokens: ["secret".repeat(1366)] }, "tokens", /more than 8192/],
  [{ tokenFile: "f", tokens: Array(1001).fill("secret".repeat(3)) }, "tokens", /more than 1000/],
  [{ ...jwt, jwtIssuer: undefined }, "jwtIssuer", /required/],
  [{ ...jwt, jwtIssuer: "" }, "jwtIssuer", /required/],
  [{ ...jwt, jwtAudience: undefined }, "jwtAudience", /required/],
  [{ ...jwt, jwtAudience: "" }, "jwtAudience", /required/],
  [{ ...jwt, tokenFile: "f", jwksUrl: undefined }, "jwtIssuer", /requires jwksUrl/],
  [{ tokenFile: "f", jwtAudience: "a" }, "jwtAudience", /requires jwksUrl/],
];
test.each(wrong)("%j: %s %s", (options, setting, problem) => {
  const error = settingError(() => resolveAuthOptions(options));
  expect(error.setting).toBe(setting);
  expect(error.message).toMatch(problem);
  expect(error.message.startsWith(`${setting}: `)).toBe(true);
  expect(error.message).not.toMatch(/secret|\n/);
});

const urls: readonly [url: string, accepted: boolean][] = [
  ["https://issuer.example/keys?a=b", true],
  ["HTTPS://issuer.example", true],
  ["https://10.0.0.1:8443/keys", true],
  ["http://localhost/keys", true],
  ["http://localhost:8080/keys", true],
  ["http://127.0.0.1:1/keys", true],
  ["http://127.9.9.9/keys", true],
  ["http://2130706433/keys", true],
  ["http://[::1]:1/keys", true],
  ["http://issuer.example/keys", false],
  ["http://localhost.evil.example/keys", false],
  ["http://127.0.0.1.evil.example/keys", false],
  ["http://evil.example/127.0.0.1", false],
  ["http://127.0.0.1@evil.example/", false],
  ["http://0.0.0.0/keys", false],
  ["http://10.0.0.1/keys", false],
  ["https://user:secret@issuer.example/keys", false],
  ["https://user@issuer.example/keys", false],
  ["file:///etc/keys.json", false],
  ["data:application/json,{}", false],
  ["ftp://127.0.0.1/keys", false],
  ["issuer.example/keys", false],
  ["/keys", false],
  ["", false],
];
test.each(urls)("the key set at %j is accepted: %s", (jwksUrl, accepted) => {
  const resolve = () => resolveAuthOptions({ ...jwt, jwksUrl });
  if (accepted) expect(resolve().jwt?.jwksUrl.href).toBe(new URL(jwksUrl).href);
  else expect(settingError(resolve)).toMatchObject({ setting: "jwksUrl" });
});
