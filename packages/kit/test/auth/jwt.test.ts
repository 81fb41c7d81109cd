import { type CryptoKey, exportSPKI, importJWK, SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openKeySet, signatureAlgorithms } from "../../src/auth/jwks.ts";
import { createJwtVerifier } from "../../src/auth/jwt.ts";
import type { Verifier } from "../../src/auth/verifier.ts";
import {
  audience,
  createSigningKey,
  forge,
  goodClaims,
  issuer,
  type SigningKey,
  sign,
  signInput,
} from "../support/auth/issuer.ts";
import { ask, fixedKeys, verifierOf } from "../support/auth/jwt-verdict.ts";
import { keySetOf, startKeyServer } from "../support/auth/key-server.ts";

const signers = new Map<string, SigningKey>();
let rsa: SigningKey;
let ec: SigningKey;
/** Keys of an attacker, in no key set. */
let foreign: SigningKey;
let foreignRsa: SigningKey;

beforeAll(async () => {
  for (const alg of signatureAlgorithms) signers.set(alg, await createSigningKey(alg, alg));
  rsa = signer("RS256");
  ec = signer("ES256");
  foreign = await createSigningKey("ES256", "ES256");
  foreignRsa = await createSigningKey("RS256", "RS256");
});

function signer(alg: string): SigningKey {
  const key = signers.get(alg);
  if (key === undefined) throw new Error(`no key for ${alg}`);
  return key;
}

describe("algorithms", () => {
  test.each(signatureAlgorithms)("%s is taken, unless a claim or key is another", async (alg) => {
    const token = await sign(signer(alg));
    const verify = await verifierOf(signer(alg).jwk);
    expect(await ask(verify, token)).toBe("alice");
    const [header = "", , signature = ""] = token.split(".");
    const claims = Buffer.from(JSON.stringify({ ...goodClaims(), sub: "root" }));
    const changed = `${header}.${claims.toString("base64url")}.${signature}`;
    expect(await ask(verify, changed)).toBe("unknown");
    expect(await ask(verify, await sign({ ...foreign, kid: alg }))).toBe("unknown");
    // From a key without alg, among others.
    const { alg: _, ...jwk } = signer(alg).jwk;
    const odd = { ...jwk, kid: "k", key_ops: ["sign", "verify"] };
    const any = await verifierOf(foreign.jwk, odd, { kty: "oct", k: "AA" });
    expect(await ask(any, await sign({ ...signer(alg), kid: "k" }))).toBe("alice");
  });

  test("a key is used only for its own algorithm", async () => {
    const verify = await verifierOf(rsa.jwk);
    const { privateKey } = signer("PS256");
    const { alg: _, ...jwk } = signer("PS256").jwk;
    const token = await sign({ alg: "PS256", kid: "RS256", privateKey, jwk });
    expect(await ask(await verifierOf({ ...jwk, kid: "RS256" }), token)).toBe("alice");
    expect(await ask(verify, token)).toBe("unknown");
  });
});

describe("claims", () => {
  const now = Date.parse("2026-01-02T03:04:05Z");
  const seconds = now / 1000;
  let clock = now;
  let verify: Verifier;
  beforeAll(async () => {
    const key = await importJWK(ec.jwk, "ES256");
    verify = createJwtVerifier({ keys: fixedKeys(key), issuer, audience, now: () => clock });
  });

  test("a token that was accepted expires", async () => {
    const token = await sign(ec, { ...goodClaims(now), exp: seconds + 1 });
    expect(await ask(verify, token)).toBe("alice");
    clock = now + 31_000;
    expect(await ask(verify, token)).toBe("expired");
    clock = now;
  });

  test.each<[change: Record<string, unknown>, verdict: string]>([
    [{}, "alice"],
    [{ aud: [audience] }, "alice"],
    [{ sub: undefined }, "nobody"],
    [{ sub: "" }, ""],
    [{ nbf: seconds + 30 }, "alice"],
    [{ exp: seconds - 29.5 }, "alice"],
    [{ exp: seconds - 30.5 }, "expired"],
    [{ nbf: seconds + 30.5 }, "not_yet_valid"],
    [{ iat: `${seconds}` }, "bad_iat"],
    [{ iat: null }, "bad_iat"],
    [{ nbf: null }, "bad_nbf"],
    [{ iss: null }, "wrong_issuer"],
    [{ exp: seconds - 30 }, "expired"],
    [{ iss: "https://evil.example" }, "wrong_issuer"],
    [{ iss: [issuer] }, "wrong_issuer"],
    [{ aud: "other" }, "wrong_audience"],
    [{ aud: [] }, "wrong_audience"],
    [{ aud: null }, "wrong_audience"],
    [{ iss: undefined }, "bad_iss"],
    [{ aud: undefined }, "bad_aud"],
    [{ exp: undefined }, "bad_exp"],
    [{ exp: `${seconds + 60}` }, "bad_exp"],
    [{ nbf: "soon" }, "bad_nbf"],
    [{ sub: 7 }, "bad_sub"],
    [{ sub: null }, "bad_sub"],
  ])("%j: %s", async (change, verdict) => {
    const token = await sign(ec, JSON.parse(JSON.stringify({ ...goodClaims(now), ...change })));
    expect(await ask(verify, token)).toBe(verdict);
  });

  test.each<[typ: unknown, verdict: string]>([
    [undefined, "alice"],
    ["JWT", "alice"],
    ["application/at+jwt", "alice"],
    ["AT+JWT", "alice"],
    ["JOSE", "alice"],
    ["logout+jwt", "wrong_type"],
    ["jwt+x", "wrong_type"],
    ["", "wrong_type"],
    [null, "wrong_type"],
  ])("typ %j: %s", async (typ, verdict) => {
    expect(await ask(verify, await sign(ec, goodClaims(now), { typ }))).toBe(verdict);
  });

  test.each(["[]", "null", '"x"', "{", ""])("claims that are %j: rejected", async (claims) => {
    const [header] = (await sign(ec)).split(".");
    const input = `${header}.${Buffer.from(claims).toString("base64url") || "AA"}`;
    expect(await ask(verify, await signInput(ec, input))).toBe("unknown");
  });

  test("callers that cannot sign get no details of the claims", async () => {
    expect(await ask(verify, await sign(foreign, { ...goodClaims(now), exp: 1 }))).toBe("unknown");
  });
});

describe("ambiguous keys", () => {
  let same: SigningKey[];
  beforeAll(async () => {
    same = await Promise.all(Array.from({ length: 6 }, () => createSigningKey("ES256", "same")));
  });

  test.each([
    ["that share a kid", {}],
    ["for a token that names none", { kid: undefined }],
  ])("are all tried: %s", async (_what, header) => {
    const verify = await verifierOf(...same.map(({ jwk }) => jwk), rsa.jwk);
    const tokens = await Promise.all(same.map((key) => sign(key, goodClaims(), header)));
    const verdicts = await Promise.all(tokens.map((token) => ask(verify, token)));
    expect(verdicts).toEqual(same.map(() => "alice"));
    expect(await ask(verify, await sign(foreign, goodClaims(), header))).toBe("unknown");
  });

  test("have the claims checked for each", async () => {
    const verify = await verifierOf(...same.map(({ jwk }) => jwk));
    expect(await ask(verify, await sign(same[5] ?? ec, { ...goodClaims(), aud: "x" }))).toBe(
      "wrong_audience",
    );
  });
});

test.each([
  ["under a new kid", {}],
  ["without a kid", { kid: undefined }],
])("rotation: a token of a new key is accepted at once, %s", async (_what, header) => {
  const first = await createSigningKey("ES256", "first");
  const jwkOf = ({ jwk }: SigningKey) => JSON.parse(JSON.stringify({ ...jwk, ...header }));
  const server = await startKeyServer(keySetOf(jwkOf(first)));
  let clock = 0;
  const keys = openKeySet({ url: server.url, report: () => {}, now: () => clock });
  const verify = createJwtVerifier({ keys, issuer, audience });
  const old = await sign(first, goodClaims(), header);
  expect(await ask(verify, old)).toBe("alice");
  server.answer = keySetOf(jwkOf(ec));
  clock += 29_999;
  expect(await ask(verify, await sign(ec, goodClaims(), header))).toBe("unknown");
  clock += 1;
  expect(await ask(verify, await sign(ec, goodClaims(), header))).toBe("alice");
  expect(await ask(verify, old)).toBe("unknown");
  expect(server.hits).toBe(2);
});

describe("attacks", () => {
  let verify: Verifier;
  beforeEach(async () => {
    verify = await verifierOf(rsa.jwk, ec.jwk);
    // The keys are available and work.
    expect(await ask(verify, await sign(ec))).toBe("alice");
  });

  /** Signed with HMAC, using the public key as if it were a shared secret. */
  async function hmac(kid?: string): Promise<string> {
    const key = await importJWK(rsa.jwk, "RS256", { extractable: true });
    const secret = Buffer.from(await exportSPKI(key as CryptoKey));
    const header = { alg: "HS256", ...(kid !== undefined && { kid }) };
    return await new SignJWT(goodClaims()).setProtectedHeader(header).sign(secret);
  }

  const forged = (header: object) => () => forge(header, goodClaims(), "");
  const signedBadly = (header: object) => () => forge(header, goodClaims(), "x");

  const nones = ["none", "NONE", "nOnE", "none ", "none\0", "non\u0435", "null"];
  const foreignWith = (header: () => Record<string, unknown>) => () =>
    sign(foreign, goodClaims(), header());

  test.each<[what: string, make: () => string | Promise<string>]>([
    ...nones.flatMap((alg): [string, () => string][] => [
      [`alg ${JSON.stringify(alg)}`, forged({ alg })],
      [`alg ${JSON.stringify(alg)}, a kid and a signature`, signedBadly({ alg, kid: "RS256" })],
    ]),
    ["no alg", () => forge({ kid: "RS256" }, goodClaims(), "x")],
    [
      "a zero signature (ES256)",
      () => forge({ alg: "ES256", kid: "ES256" }, goodClaims(), new Uint8Array(64)),
    ],
    ["HS256 with the public key as secret", () => hmac("RS256")],
    ["HS256 with the public key, without a kid", () => hmac()],
    ["a foreign key in x5c", foreignWith(() => ({ x5c: ["AAAA"] }))],
    ["a foreign key in jwk", foreignWith(() => ({ jwk: foreign.jwk }))],
    ["RS256 with the kid of an ES256 key", () => sign({ ...foreignRsa, kid: "ES256" })],
    ["a known key under the kid of another", () => sign({ ...ec, kid: "RS256" })],
    ["a known key under an unknown kid", () => sign({ ...ec, kid: "other" })],
    ["a kid __proto__", async () => sign({ ...foreign, kid: "__proto__" })],
    ...[["ES256"], 7, null].map((kid): [string, () => Promise<string>] => [
      `a kid that is ${JSON.stringify(kid)}`,
      foreignWith(() => ({ kid })),
    ]),
  ])("%s: rejected", async (_what, make) => {
    expect(await ask(verify, await make())).toBe("unknown");
  });

  test("a crit extension or an unencoded payload (b64 false), signed with the real key: rejected", async () => {
    const token = await new SignJWT(goodClaims())
      .setProtectedHeader({ alg: "ES256", kid: "ES256", crit: ["x"], x: 1 })
      .sign(ec.privateKey, { crit: { x: true } });
    expect(await ask(verify, token)).toBe("unknown");
    const header = Buffer.from(
      JSON.stringify({ alg: "ES256", kid: "ES256", b64: false, crit: ["b64"] }),
    );
    const input = `${header.toString("base64url")}.${JSON.stringify(goodClaims()).replaceAll(/[^A-Za-z0-9]/g, "_")}`;
    expect(await ask(verify, await signInput(ec, input))).toBe("unknown");
  });

  test("the list of algorithms holds even for a key set that would reveal a secret", async () => {
    const secret = new TextEncoder().encode("a secret that somebody put into the set");
    const lenient = createJwtVerifier({ keys: fixedKeys(secret), issuer, audience });
    for (const alg of ["HS256", "HS384", "HS512"]) {
      const token = await new SignJWT(goodClaims()).setProtectedHeader({ alg }).sign(secret);
      expect(await ask(lenient, token)).toBe("unknown");
    }
  });

  test.each(["jku", "x5u"])("a URL in %s is never fetched", async (parameter) => {
    const evil = await startKeyServer(keySetOf(foreign.jwk));
    for (const kid of ["ES256", "mine", undefined]) {
      const token = await sign(foreign, goodClaims(), { [parameter]: evil.url.href, kid });
      expect(await ask(verify, token)).toBe("unknown");
    }
    expect(evil.hits).toBe(0);
  });

  test.each(["a.b", "a.b.c.d", ".b.c", "a..c", "a.b.c=", "plst_x"])("%s is ignored", (token) => {
    expect(verify(token)).toEqual({ kind: "refused", reason: "unknown" });
  });
});
