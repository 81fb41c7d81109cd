import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { NodeHandler } from "../../src/index.ts";

/** Serves a fetch handler by `node:http` and `node:http2`, as a runtime of fetch does. */
export function listenerOf(
  handler: (request: Request, peerAddress?: string) => Promise<Response>,
): NodeHandler {
  return async (incoming, outgoing) => {
    const left = new AbortController();
    outgoing.on("close", () => left.abort());
    const { method = "", url = "", headers } = incoming;
    const fields = Object.entries(headers).filter(([name]) => !name.startsWith(":"));
    const host = headers[":authority"] ?? headers.host;
    const hasBody = method !== "GET" && method !== "HEAD";
    const request = new Request(new URL(url, `http://${host}`), {
      ...{ method, headers: fields as [string, string][], signal: left.signal, duplex: "half" },
      body: hasBody ? (Readable.toWeb(incoming as Readable) as ReadableStream<Uint8Array>) : null,
    } as RequestInit);
    const response = await handler(request, incoming.socket.remoteAddress);
    if (outgoing.destroyed) return;
    const { status, body } = response;
    const repeated = response.headers.getSetCookie();
    const cookies = repeated.length > 0 ? { "set-cookie": repeated } : {};
    outgoing.writeHead(status, { ...Object.fromEntries(response.headers), ...cookies });
    if (body === null) outgoing.end();
    else await pipeline(Readable.fromWeb(body as never), outgoing).catch(() => outgoing.destroy());
  };
}
