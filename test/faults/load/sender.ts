import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import {
  type HttpResponse,
  type HttpVersion,
  headersFrom,
} from "../../../packages/gateway/test/support/http-exchange.ts";

export interface SentRequest {
  readonly path: string;
  /** Default: POST. */
  readonly method?: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  /** Gives the request up. */
  readonly signal: AbortSignal;
}

/** Sends requests to one server on persistent connections. Over TLS, it accepts any certificate. */
export interface Sender extends Disposable {
  /** @throws if there was no whole answer. */
  send(request: SentRequest): Promise<HttpResponse>;
}

const anyCertificate = { rejectUnauthorized: false };

/** @param localAddress Of the client, over HTTP/1.1. */
export function openSender(version: HttpVersion, url: string, localAddress?: string): Sender {
  return version === "1.1" ? overHttp1(url, localAddress) : overHttp2(url);
}

function overHttp1(url: string, localAddress: string | undefined): Sender {
  const protocol = url.startsWith("https:") ? https : http;
  const agent = new protocol.Agent({ keepAlive: true, ...anyCertificate });
  return {
    send({ path, method = "POST", headers, body, signal }) {
      const answer = Promise.withResolvers<HttpResponse>();
      const options = { method, agent, headers, signal, localAddress };
      const request = protocol.request(`${url}${path}`, options, (response) => {
        response.once("error", answer.reject);
        collect(response, (bytes) => {
          answer.resolve({
            status: response.statusCode ?? 0,
            headers: headersFrom(response.headersDistinct),
            trailers: headersFrom(response.trailersDistinct),
            body: bytes,
          });
        });
      });
      request.once("error", answer.reject);
      request.end(body);
      return answer.promise;
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
    send({ path, method = "POST", headers, body, signal }) {
      const answer = Promise.withResolvers<HttpResponse>();
      const fields = { ":method": method, ":path": path, ...headers };
      const stream = open().request(fields, { signal });
      let head: http2.IncomingHttpHeaders & http2.IncomingHttpStatusHeader = {};
      let trailers = new Headers();
      let bytes: Buffer | undefined;
      stream.once("response", (received) => {
        head = received;
      });
      stream.once("trailers", (received) => {
        trailers = headersFrom(received);
      });
      collect(stream, (all) => {
        bytes = all;
      });
      stream.once("error", answer.reject);
      stream.once("close", () => {
        const { ":status": status, ...others } = head;
        const isWhole = stream.rstCode === http2.constants.NGHTTP2_NO_ERROR && !stream.aborted;
        if (!isWhole || bytes === undefined || status === undefined) {
          answer.reject(new Error("the stream was cut"));
        } else {
          answer.resolve({ status, headers: headersFrom(others), trailers, body: bytes });
        }
      });
      stream.end(body);
      return answer.promise;
    },
    [Symbol.dispose]: () => session?.destroy(),
  };
}

function collect(stream: NodeJS.ReadableStream, onEnd: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.once("end", () => onEnd(Buffer.concat(chunks)));
}
