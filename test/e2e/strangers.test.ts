/** No one in: what is not a valid token opens no door, whichever protocol it comes by. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { createToken, digestToken } from "connect-gateway-kit/auth/token-file";
import { expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/exchange.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import {
  audience,
  createSigningKey,
  forge,
  goodClaims,
  issuer,
  sign,
} from "../../packages/kit/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../../packages/kit/test/support/auth/key-server.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

const key = await createSigningKey("ES256", "k");
/** Of an attacker: in no key set. */
const foreign = await createSigningKey("ES256", "k");

/** Authorization headers of strangers, given a token of the file. */
async function strangers(token: string, file: string): Promise<Record<string, string | null>> {
  const [header = "", claims = ""] = (await sign(key)).split(".");
  const bearers = {
    "a token cut short": token.slice(0, -1),
    "a token in capitals": token.toUpperCase(),
    "the digest of a token": digestToken(token).toString("hex"),
    "the name of a token": "ada",
    "the name of a given token": "tokens#1",
    "a line of the file": readFileSync(file, "utf8").trim(),
    "two tokens": `${token},${token}`,
    "no token": "",
    "a JWT of alg none": forge({ alg: "none" }, goodClaims(), ""),
    "a JWT without its signature": `${header}.${claims}.`,
    "a JWT of somebody else": await sign(foreign),
    "a JWT that brings its key": await sign(foreign, goodClaims(), { jwk: foreign.jwk }),
    "a JWT that has expired": await sign(key, { ...goodClaims(), exp: 1 }),
    "a JWT of another issuer": await sign(key, { ...goodClaims(), iss: "https://evil.example" }),
  };
  return {
    "no header": null,
    "an empty header": "",
    "another scheme": `Basic ${Buffer.from(`ada:${token}`).toString("base64")}`,
    "the scheme twice": `Bearer Bearer ${token}`,
    ...Object.fromEntries(Object.entries(bearers).map(([what, text]) => [what, `Bearer ${text}`])),
  };
}

test.each(rawProtocols)("over $name nobody gets in but who has a token", async (protocol) => {
  await using folder = await createTemporaryFolder();
  const tokenFile = join(folder.path, "tokens");
  const token = await createToken(tokenFile, "ada", "plst_");
  const keys = await startKeyServer(keySetOf(key.jwk));
  const jwt = { jwksUrl: keys.url.href, jwtIssuer: issuer, jwtAudience: audience };
  await using server = await openTestServer({ auth: { tokenFile, tokens: [knownToken], ...jwt } });
  using caller = protocol.open(server.url);
  const codes: Record<string, unknown> = {};
  for (const [what, authorization] of Object.entries(await strangers(token, tokenFile))) {
    const outcome = await caller.create({ id: 1n, name: what }, { authorization });
    codes[what] = "ok" in outcome ? "in" : outcome.code;
  }
  const plant = protocol.encode({ id: 1n, name: "Basil" });
  const { path, headers, ...asked } = protocol.request(plant, { authorization: null });
  for (const [what, query, fields] of [
    ["in the query", `?access_token=${token}&authorization=Bearer%20${token}`, {}],
    ["in a cookie", "", { cookie: `access_token=${token}; authorization=Bearer ${token}` }],
    ["for a proxy", "", { "proxy-authorization": `Bearer ${token}` }],
    ["in headers of others", "", { "x-api-key": token, "x-authorization": `Bearer ${token}` }],
  ] as const) {
    const answer = await exchange({
      ...{ ...asked, origin: server.url, path: path + query },
      headers: { ...headers, ...fields },
    });
    const outcome = protocol.read(answer);
    codes[what] = "ok" in outcome ? "in" : outcome.code;
  }
  const refused = Object.keys(codes).map((what) => [what, Code.Unauthenticated]);
  expect(codes).toEqual(Object.fromEntries(refused));
  expect(readStoredPlants(server.database)).toEqual([]);

  for (const [index, member] of [token, knownToken, await sign(key)].entries()) {
    const plant = { id: BigInt(index), name: "Basil" };
    const outcome = await caller.create(plant, { authorization: `Bearer ${member}` });
    expect(outcome).toStrictEqual({ ok: { name: "Basil" } });
  }
  expect(keys.hits).toBe(1);
});
