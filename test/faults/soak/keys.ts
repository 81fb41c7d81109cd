/** An issuer of JWTs whose keys change. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  audience,
  createSigningKey,
  goodClaims,
  issuer,
  type SigningKey,
  sign,
} from "../../auth/support/issuer.ts";

export interface Issuer extends Disposable {
  /** What a server needs to know of it. */
  readonly args: readonly string[];
  /** Publishes a new key beside the old one, and signs with the new one. */
  addKey(): Promise<void>;
  /** Publishes the last one alone. */
  removeOldKeys(): void;
  /** A JWT of the last key, for a day. */
  sign(): Promise<string>;
}

export async function openIssuer(): Promise<Issuer> {
  let keys: SigningKey[] = [];
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  let count = 0;

  async function addKey(): Promise<void> {
    keys.push(await createSigningKey("ES256", `key-${process.pid}-${++count}`));
  }

  await addKey();
  return {
    args: ["--jwks-url", url, "--jwt-issuer", issuer, "--jwt-audience", audience],
    addKey,
    removeOldKeys() {
      keys = keys.slice(-1);
    },
    async sign() {
      const key = keys.at(-1);
      if (key === undefined) throw new Error("no key");
      return await sign(key, { ...goodClaims(), exp: Math.floor(Date.now() / 1000) + 86_400 });
    },
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
