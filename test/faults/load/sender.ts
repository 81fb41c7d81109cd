import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { buffer } from "node:stream/consumers";
import {
  type HttpResponse,
  type HttpVersion,
  headersFrom,
  responseFrom,
} from "../../../packages/gateway/test/support/exchange.ts";
import type { RawRequest } from "../../support/protocol/raw.ts";

interface SentRequest extends Omit<RawRequest, "version"> {
  /** Gives the request up. */
  readonly signal: AbortSignal;
}

/** Posts to one server on persistent connections. Over TLS, it accepts any certificate. */
export interface Sender extends Disposable {
  /** @throws if there was no whole answer. */
  send(request: SentRequest): Promise<HttpResponse>;
}

const anyCertificate = { rejectUnauthorized: false };

export function openSender(version: HttpVersion, url: string): Sender {
  return version === "1.1" ? overHttp1(url) : overHttp2(url);
}

function overHttp1(url: string): Sender {
  const protocol = url.startsWith("https:") ? https : http;
  const agent = new protocol.Agent({ keepAlive: true, ...anyCertificate });
  return {
    async send({ path, headers, body, signal }) {
      const request = protocol.request(`${url}${path}`, { method: "POST", agent, headers, signal });
      // After an early answer, the rest of a body may find a closed connection.
      request.on("error", () => {});
      request.end(body);
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      return await responseFrom(response);
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

function overHttp2(url: string): Sender {
  let session: http2.ClientHttp2Session | undefined;

  function open(): http2.ClientHttp2Session {
    if (session !== undefined && !session.destroyed && !session.closed) return session;
    session = http2.connect(url, anyCertificate);
    // Each of its streams reports the error itself.
    session.on("error", () => {});
    return session;
  }

  return {
    async send({ path, headers, body, signal }) {
      const stream = open().request({ ":method": "POST", ":path": path, ...headers }, { signal });
      let head: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
      let trailers = new Headers();
      stream.once("response", (received) => {
        head = received;
      });
      stream.once("trailers", (received) => {
        trailers = headersFrom(received);
      });
      const closed = once(stream, "close");
      stream.end(body);
      const [bytes] = await Promise.all([buffer(stream), closed]);
      const { ":status": status, ...others } = head;
      const isCut = stream.aborted || stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR;
      if (isCut || status === undefined) throw new Error("the stream was cut");
      return { status, headers: headersFrom(others), trailers, body: bytes };
    },
    [Symbol.dispose]: () => session?.destroy(),
  };
}
