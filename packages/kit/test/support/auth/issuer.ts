import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";

export const issuer = "https://issuer.example";
export const audience = "plant-store";

/** A key pair of a JWT issuer. */
export interface SigningKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  /** In the form of a key set. */
  readonly jwk: JWK;
}

export async function createSigningKey(alg: string, kid: string): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return { alg, kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

/** Valid claims at the given time, in milliseconds. */
export function goodClaims(now = Date.now()): Record<string, unknown> {
  return { iss: issuer, aud: audience, sub: "alice", exp: Math.floor(now / 1000) + 60 };
}

export function sign(
  key: SigningKey,
  claims: Record<string, unknown> = goodClaims(),
  header: Record<string, unknown> = {},
): Promise<string> {
  return new SignJWT(claims)
    .setProtectedHeader({ alg: key.alg, kid: key.kid, ...header })
    .sign(key.privateKey);
}

/** A handmade compact JWS, with any header and signature. */
export function forge(header: object, claims: object, signature: string | Uint8Array): string {
  return [JSON.stringify(header), JSON.stringify(claims), signature]
    .map((part) => Buffer.from(part).toString("base64url"))
    .join(".");
}

/** Signs anything, valid or not, with ES256. */
export async function signInput({ privateKey }: SigningKey, input: string): Promise<string> {
  const algorithm = { name: "ECDSA", hash: "SHA-256" };
  const signature = await crypto.subtle.sign(algorithm, privateKey, Buffer.from(input));
  return `${input}.${Buffer.from(signature).toString("base64url")}`;
}
