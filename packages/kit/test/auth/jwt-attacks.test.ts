import { type CryptoKey, exportSPKI, importJWK, SignJWT } from "jose";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
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

let rsa: SigningKey;
let ec: SigningKey;
/** An attacker's key, in no key set. */
let foreign: SigningKey;
let foreignRsa: SigningKey;

beforeAll(async () => {
  rsa = await createSigningKey("RS256", "RS256");
  ec = await createSigningKey("ES256", "ES256");
  foreign = await createSigningKey("ES256", "ES256");
  foreignRsa = await createSigningKey("RS256", "RS256");
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

  const attacks: readonly [what: string, make: () => string | Promise<string>][] = [
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
    ["RS256 with the kid of an ES256 key", () => sign({ ...foreignRsa, kid: "ES256" })],
    ["a known key under the kid of another", () => sign({ ...ec, kid: "RS256" })],
    ["a known key under an unknown kid", () => sign({ ...ec, kid: "other" })],
    ["a kid __proto__", async () => sign({ ...foreign, kid: "__proto__" })],
    ...[["ES256"], 7, null].map((kid): [string, () => Promise<string>] => [
      `a kid that is ${JSON.stringify(kid)}`,
      foreignWith(() => ({ kid })),
    ]),
  ];
  test.each(attacks)("%s: rejected", async (_what, make) => {
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

  const shapes = ["a.b", "a.b.c.d", ".b.c", "a..c", "a.b.c=", "plst_x"];
  test.each(shapes)("%s is ignored", (token) => {
    expect(verify(token)).toEqual({ kind: "refused", reason: "unknown" });
  });
});
