/** No one in: what is not a valid token opens no door, whichever protocol it comes by. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { createToken, digestToken } from "connect-gateway-proxy/auth";
import { beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import {
  audience,
  createSigningKey,
  forge,
  goodClaims,
  issuer,
  type SigningKey,
  sign,
} from "../../packages/proxy/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../../packages/proxy/test/support/auth/key-server.ts";
import { createPlantPath } from "../support/protocol/message.ts";
import { rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

let key: SigningKey;
/** Of an attacker: in no key set. */
let foreign: SigningKey;

beforeAll(async () => {
  key = await createSigningKey("ES256", "k");
  foreign = await createSigningKey("ES256", "k");
});

/** Authorization headers of strangers, given a token of the file. */
async function strangers(token: string, file: string): Promise<Record<string, string | null>> {
  const jwt = await sign(key);
  const [header = "", claims = ""] = jwt.split(".");
  const late = { ...goodClaims(), exp: 1 };
  const bearers = {
    "a token cut short": token.slice(0, -1),
    "a token made longer": `${token}x`,
    "a token without its prefix": token.replace("plst_", ""),
    "a token in capitals": token.toUpperCase(),
    "the digest of a token": digestToken(token).toString("hex"),
    "the name of a token": "ada",
    "a given token cut short": knownToken.slice(0, -1),
    "the name of a given token": "tokens#1",
    "a line of the file": readFileSync(file, "utf8").trim(),
    "two tokens": `${token},${token}`,
    "two tokens, with a space": `${token} ${token}`,
    "no token": "",
    "a JWT of alg none": forge({ alg: "none" }, goodClaims(), ""),
    "a JWT of alg nOnE, signed somehow": forge({ alg: "nOnE", kid: "k" }, goodClaims(), "x"),
    "a JWT without its signature": `${header}.${claims}.`,
    "a JWT of somebody else": await sign(foreign),
    "a JWT that brings its key": await sign(foreign, goodClaims(), { jwk: foreign.jwk }),
    "a JWT that has expired": await sign(key, late),
    "a JWT for somebody else": await sign(key, { ...goodClaims(), aud: "other" }),
    "a JWT of another issuer": await sign(key, { ...goodClaims(), iss: "https://evil.example" }),
    "a JWT without an end": await sign(key, { ...goodClaims(), exp: undefined }),
  };
  return {
    "no header": null,
    "an empty header": "",
    "the token alone": token,
    "another scheme": `Basic ${Buffer.from(`ada:${token}`).toString("base64")}`,
    "the scheme twice": `Bearer Bearer ${token}`,
    "a quoted token": `Bearer "${token}"`,
    ...Object.fromEntries(Object.entries(bearers).map(([what, text]) => [what, `Bearer ${text}`])),
  };
}

describe.each(rawProtocols)("over $name", (protocol) => {
  test("nobody gets in but who has a token, and nothing is stored", async () => {
    await using folder = await createTemporaryFolder();
    const tokenFile = join(folder.path, "tokens");
    const token = await createToken(tokenFile, "ada", "plst_");
    const keys = await startKeyServer(keySetOf(key.jwk));
    await using server = await openTestServer({
      auth: {
        ...{ tokenFile, tokens: [knownToken] },
        ...{ jwksUrl: keys.url.href, jwtIssuer: issuer, jwtAudience: audience },
      },
    });
    using caller = protocol.open(server.url);
    const codes: Record<string, unknown> = {};
    const headers = await strangers(token, tokenFile);
    for (const [what, authorization] of Object.entries(headers)) {
      const outcome = await caller.create({ id: 1n, name: what }, { authorization });
      codes[what] = "ok" in outcome ? "in" : outcome.code;
    }
    expect(codes).toEqual(
      Object.fromEntries(Object.keys(headers).map((what) => [what, Code.Unauthenticated])),
    );

    const elsewhere: Record<string, number | string> = {};
    const { version, path, contentType } = protocol;
    const body = protocol.frame(protocol.encode({ id: 1n, name: "Basil" }));
    for (const [what, query, fields] of [
      ["in the query", `?access_token=${token}&authorization=Bearer%20${token}`, {}],
      ["in a cookie", "", { cookie: `access_token=${token}; authorization=Bearer ${token}` }],
      ["for a proxy", "", { "proxy-authorization": `Bearer ${token}` }],
      ["in headers of others", "", { "x-api-key": token, "x-authorization": `Bearer ${token}` }],
    ] as const) {
      const answer = await exchange({
        ...{ origin: server.url, version, path: path + query, body },
        headers: { "content-type": contentType, ...fields },
      });
      const outcome = protocol.read(answer);
      elsewhere[what] = "ok" in outcome ? "in" : outcome.code;
    }
    expect(new Set(Object.values(elsewhere))).toEqual(new Set([Code.Unauthenticated]));
    expect(readStoredPlants(server.database)).toEqual([]);

    const members = [token, knownToken, await sign(key)];
    for (const [index, member] of members.entries()) {
      const plant = { id: BigInt(index), name: "Basil" };
      expect(await caller.create(plant, { authorization: `Bearer ${member}` })).toStrictEqual({
        ok: { name: "Basil" },
      });
    }
    expect(keys.hits).toBe(1);
  });
});

test("what a stranger calls a member is not taken for another's", async () => {
  await using server = await openTestServer();
  const post = async (path: string, body: string, headers: Record<string, string> = {}) => {
    const response = await fetch(server.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    return { status: response.status, body: await response.json() };
  };
  const strange = String.raw`{"id":1,"name":"x","ta\\":1}`;
  await post("/grpc.health.v1.Health/Check", strange);
  await post(createPlantPath, `{"plant":${strange}}`);
  const escaped = String.raw`"name":"x","ta\u0067":"herb"}`;
  const authorization = `Bearer ${knownToken}`;
  expect([
    await post("/plants", `{"id":1,${escaped}`, { authorization }),
    await post(createPlantPath, `{"plant":{"id":2,${escaped}}`, { authorization }),
  ]).toEqual([
    { status: 200, body: { name: "x", tag: "herb" } },
    { status: 200, body: { plant: { name: "x", tag: "herb" } } },
  ]);
});
