/** A JWT issuer whose keys change. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  audience,
  createSigningKey,
  goodClaims,
  issuer,
  type SigningKey,
  sign,
} from "../../../packages/proxy/test/support/auth/issuer.ts";

export interface Issuer extends Disposable {
  /** The server's arguments for it. */
  readonly args: readonly string[];
  /** Publishes a new key in addition to the old one, and signs with the new one. */
  addKey(): Promise<void>;
  /** Publishes only the last key. */
  removeOldKeys(): void;
  /** A JWT signed with the last key, valid for a day. */
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
