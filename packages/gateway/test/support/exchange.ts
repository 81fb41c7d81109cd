import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { buffer } from "node:stream/consumers";
import { within } from "./within.ts";

export type HttpVersion = "1.1" | "2";

export interface HttpRequest {
  /** Without the path. */
  readonly origin: string;
  readonly version: HttpVersion;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Whether to leave the body incomplete. Default: no. */
  readonly unfinished?: boolean;
  /** The certificate to trust, for https. */
  readonly ca?: string;
  /** The client's certificate, for https. */
  readonly client?: { readonly cert: Buffer; readonly key: Buffer };
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly trailers: Headers;
  readonly body: Buffer;
}

/** One request and its response, on a separate connection. */
export function exchange(request: HttpRequest): Promise<HttpResponse> {
  const answer = request.version === "1.1" ? overHttp1(request) : overHttp2(request);
  return within(`the answer to ${request.method ?? "POST"} ${request.path}`, answer);
}

async function overHttp1(given: HttpRequest): Promise<HttpResponse> {
  const { origin, path, method = "POST", headers = {}, body = "", unfinished, ca, client } = given;
  const module = origin.startsWith("https:") ? https : http;
  const request = module.request(origin, { path, method, headers, agent: false, ca, ...client });
  const response = Promise.withResolvers<http.IncomingMessage>();
  request.on("response", response.resolve);
  // After an early answer, the rest of a body may find a closed connection.
  request.on("error", response.reject);
  if (unfinished) request.write(body);
  else request.end(body);
  const whole = await responseFrom(await response.promise);
  request.destroy();
  return whole;
}

/** Over HTTP/1.1, when it has come to its end. */
export async function responseFrom(message: http.IncomingMessage): Promise<HttpResponse> {
  const body = await buffer(message);
  return {
    status: message.statusCode ?? 0,
    headers: headersFrom(message.headersDistinct),
    trailers: headersFrom(message.trailersDistinct),
    body,
  };
}

async function overHttp2(given: HttpRequest): Promise<HttpResponse> {
  const { origin, ca, client } = given;
  const session = http2.connect(origin, ca === undefined ? {} : { ca, ...client });
  try {
    return await exchangeOn(session, given);
  } finally {
    session.destroy();
  }
}

/** One request and its response on a session, in parallel with others. */
export async function exchangeOn(
  session: http2.ClientHttp2Session,
  request: Omit<HttpRequest, "origin" | "version">,
): Promise<HttpResponse> {
  const { path, method = "POST", headers = {}, body = "", unfinished } = request;
  const endStream = body.length === 0 && !unfinished;
  const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream });
  let trailers = new Headers();
  stream.on("trailers", (fields) => {
    trailers = headersFrom(fields);
  });
  const answered = once(stream, "response") as Promise<[http2.IncomingHttpHeaders]>;
  if (unfinished) stream.write(body);
  else if (!endStream) stream.end(body);
  const [head] = await Promise.race([answered, endOf(session)]);
  const { ":status": status, ...fields } = head as typeof head & { ":status"?: number };
  const bytes = await buffer(stream);
  return { status: Number(status), headers: headersFrom(fields), trailers, body: bytes };
}

const failures = new WeakMap<http2.ClientHttp2Session, Promise<never>>();

/** One for all requests on a session, which has at most ten listeners. */
function endOf(session: http2.ClientHttp2Session): Promise<never> {
  const known = failures.get(session);
  if (known !== undefined) return known;
  const { promise, reject } = Promise.withResolvers<never>();
  session.once("error", reject).once("close", () => reject(new Error("the session was closed")));
  promise.catch(() => {});
  failures.set(session, promise);
  return promise;
}

export function headersFrom(
  fields: Record<string, string | string[] | number | undefined>,
): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(fields)) {
    for (const value of [values ?? []].flat()) headers.append(name, String(value));
  }
  return headers;
}
