/** A JWT issuer whose keys change. */
import { once } from "node:events";
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

export async function openIssuer() {
  let keys: SigningKey[] = [];
  let count = 0;
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;

  /** Publishes a new key in addition to the old one, and signs with the new one. */
  async function addKey(): Promise<void> {
    keys.push(await createSigningKey("ES256", `key-${process.pid}-${++count}`));
  }

  await addKey();
  return {
    /** The server's arguments for it. */
    args: ["--jwks-url", url, "--jwt-issuer", issuer, "--jwt-audience", audience],
    addKey,
    removeOldKeys() {
      keys = keys.slice(-1);
    },
    /** A JWT signed with the last key, valid for a day. */
    sign() {
      const claims = { ...goodClaims(), exp: Math.floor(Date.now() / 1000) + 86_400 };
      return sign(keys.at(-1) as SigningKey, claims);
    },
    [Symbol.dispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
