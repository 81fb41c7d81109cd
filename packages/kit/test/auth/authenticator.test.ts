import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { createFirstToken, openAuthenticator } from "../../src/auth/authenticator.ts";
import { createBearerGate } from "../../src/auth/bearer.ts";
import { createToken, listTokens, revokeToken } from "../../src/auth/token-file.ts";
import { principalId } from "../../src/auth/verifier.ts";
import { callGate } from "../support/auth/call-gate.ts";
import { audience, createSigningKey, issuer, sign } from "../support/auth/issuer.ts";
import { startKeyServer, status } from "../support/auth/key-server.ts";
import { type AuthOptions, resolveAuth } from "../support/auth/resolve-auth.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let tokenFile: string;
beforeEach(async () => {
  tokenFile = join(await temporaryFolder(), "tokens");
});

async function open(options: AuthOptions) {
  return await openAuthenticator(resolveAuth(options), () => {});
}

/** The id of the principal, or the code of the rejection. */
async function ask({ verify }: Awaited<ReturnType<typeof open>>, token: string): Promise<string> {
  const outcome = await callGate(createBearerGate(verify, "test"), `Bearer ${token}`);
  return "principal" in outcome ? principalId(outcome.principal) : outcome.code;
}

const jwt = { jwtIssuer: issuer, jwtAudience: audience };
const given = "given-given-given-given";

test("without a key set, opaque tokens work and JWTs get unavailable", async () => {
  const key = await createSigningKey("ES256", "k");
  const { url } = await startKeyServer(status(500));
  const opened = await open({ tokens: [given, "looks.like.a-JWT"], jwksUrl: url.href, ...jwt });
  expect(await ask(opened, given)).toBe("token:tokens#1");
  expect(await ask(opened, "looks.like.a-JWT")).toBe("token:tokens#2");
  expect(await ask(opened, await sign(key))).toBe("Unavailable");
  expect(await ask(opened, "a-stranger")).toBe("Unauthenticated");
});

describe("the first token", () => {
  const settings = (more: AuthOptions = {}) => resolveAuth({ tokenFile, ...more });

  test("is created once, and works", async () => {
    const token = await createFirstToken(settings(), "plst_");
    expect((await listTokens(tokenFile)).map(({ name }) => name)).toEqual(["first"]);
    expect(await ask(await open({ tokenFile }), token ?? "")).toBe("token:first");
    expect(await createFirstToken(settings(), "plst_")).toBeUndefined();
    await revokeToken(tokenFile, "first");
    await createToken(tokenFile, "ada", "plst_");
    expect(await createFirstToken(settings(), "plst_")).toBeUndefined();
  });

  test("is not created if tokens are given, JWTs are accepted, or there is no file", async () => {
    const jwks = { jwksUrl: "https://issuer.example/keys", ...jwt };
    for (const more of [{ tokens: [given] }, jwks, { tokenFile: undefined, tokens: [given] }])
      expect(await createFirstToken(settings(more), "plst_")).toBeUndefined();
    await expect(readFile(tokenFile)).rejects.toThrow("ENOENT");
  });

  test("is created by one of two servers that start at once", async () => {
    const tokens = await Promise.all([1, 2, 3].map(() => createFirstToken(settings(), "plst_")));
    expect(tokens.filter((token) => token !== undefined)).toHaveLength(1);
  });
});
