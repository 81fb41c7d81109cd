/** A JWT issuer whose keys change. */
import { createServer } from "node:http";
import { listen } from "../../../packages/gateway/test/support/free-port.ts";
import {
  audience,
  createSigningKey,
  goodClaims,
  issuer,
  type SigningKey,
  sign,
} from "../../../packages/kit/test/support/auth/issuer.ts";

export async function openIssuer() {
  let keys: SigningKey[] = [];
  let count = 0;
  const server = createServer((_request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  });
  const listener = await listen(server);

  /** Publishes a new key in addition to the old one, and signs with the new one. */
  async function addKey(): Promise<void> {
    keys.push(await createSigningKey("ES256", `key-${process.pid}-${++count}`));
  }

  await addKey();
  return {
    /** The server's arguments for it. */
    args: [
      `--jwks-url=${listener.url}/keys`,
      `--jwt-issuer=${issuer}`,
      `--jwt-audience=${audience}`,
    ],
    addKey,
    removeOldKeys() {
      keys = keys.slice(-1);
    },
    /** A JWT signed with the last key, valid for a day. */
    sign() {
      const claims = { ...goodClaims(), exp: Math.floor(Date.now() / 1000) + 86_400 };
      return sign(keys.at(-1) as SigningKey, claims);
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await listener[Symbol.asyncDispose]();
    },
  };
}
