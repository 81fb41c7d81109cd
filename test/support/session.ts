import { once } from "node:events";
import http2, { type ClientHttp2Session } from "node:http2";
import { within } from "../../packages/gateway/test/support/within.ts";

export async function openSession(origin: string): Promise<ClientHttp2Session> {
  const session = http2.connect(origin);
  session.on("error", () => {});
  await within("a session", once(session, "remoteSettings"));
  return session;
}
