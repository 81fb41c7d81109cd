/** Upstreams that serve REST, Connect or gRPC-Web, over HTTP/1.1. */
import http from "node:http";
import https from "node:https";
import { isIP } from "node:net";
import { pipeline, Readable } from "node:stream";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { type ClientTls, socketError } from "connect-gateway/client";
import type { HttpRule } from "connect-gateway/protos";
import { createRestTransport, type RestTransportOptions } from "connect-gateway/rest";
import type { UpstreamPlace } from "./upstream-place.ts";

type Options = Required<Pick<RestTransportOptions, "readMaxBytes" | "readMaxValues" | "int64">>;

/** Of a response, as over HTTP/2. */
const maxHeaderSize = 64 * 1024;

export function openHttpUpstream(
  { url: baseUrl, protocol, authority }: UpstreamPlace,
  rest: Options,
  tls: () => ClientTls,
  header: () => Readonly<Record<string, string>>,
  ownHeaders: typeof header,
) {
  const agent = guardRequests(createAgent(new URL(baseUrl), tls));
  const headers = authority === undefined ? {} : { host: authority };
  const fetch = fetchBy(agent, headers);
  const nodeOptions = { agent, headers, maxHeaderSize };
  const addHeaders: Interceptor = (next) => (request) => {
    for (const [name, value] of Object.entries(header())) request.header.set(name, value);
    return next(request);
  };
  const common = { baseUrl, interceptors: [addHeaders], readMaxBytes: rest.readMaxBytes };
  const options = { ...common, httpVersion: "1.1" as const, nodeOptions };
  const ofRest = { ...rest, ...common, fetch, clientStreams: true };
  const transport =
    protocol === "connect" ? createConnectTransport(options) : createGrpcWebTransport(options);
  return {
    transportBy: (rules: readonly HttpRule[]) =>
      protocol === "rest" ? createRestTransport({ ...ofRest, rules }) : transport,
    /** Rejects if the server does not answer. */
    async ask(signal: AbortSignal) {
      const headers = { ...ownHeaders(), ...header() };
      const { status } = await fetch(baseUrl, { method: "HEAD", signal, headers });
      if (status >= 502 && status <= 504) throw new Error(`HTTP ${status}`);
    },
    close: () => agent.destroy(),
  };
}

function createAgent({ protocol }: URL, tls: () => ClientTls): http.Agent {
  // Many servers close a connection after 5 s without a request, which the next one must not meet.
  const options = { keepAlive: true, timeout: 4000, allowPartialTrustChain: true };
  if (protocol === "http:") return new http.Agent(options);
  // A session that is resumed has no certificate to check.
  const agent = new https.Agent({ ...options, maxCachedSessions: 0 });
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, callback) => {
    // By default, Node takes the name from the header Host. An IP address has no SNI, SNI no last dot.
    const { serverName = `${options.host}`, ...material } = tls();
    const servername = isIP(serverName) === 0 ? serverName.replace(/\.$/, "") : "";
    return connect({ ...options, ...material, servername }, callback);
  };
  return agent;
}

/**
 * Ends requests that get a 101, which Node would close without an error, or no connection in time.
 * Several values of bytes in base64 have a field each, as over HTTP/2: Armeria fails calls that join them.
 */
function guardRequests(given: http.Agent): http.Agent {
  // Node calls it for each request, but its types lack it.
  const agent = given as http.Agent & { addRequest(request: http.ClientRequest, to: object): void };
  const addRequest = agent.addRequest.bind(agent);
  agent.addRequest = (request, to) => {
    for (const name of request.getHeaderNames().filter((name) => name.endsWith("-bin"))) {
      request.setHeader(name, `${request.getHeader(name)}`.split(/, ?/));
    }
    request.on("upgrade", (_, socket) => {
      socket.destroy();
      request.emit("error", new ConnectError("HTTP 101", Code.Unknown));
    });
    // What a caller sends after a whole answer is discarded. To Node, it is an error.
    request.on("response", (answer) => {
      const { write } = request;
      request.write = (...given: unknown[]) => {
        const written = given.at(-1);
        if (typeof written !== "function") return Reflect.apply(write, request, given);
        const done = (error?: Error) => written(answer.complete ? undefined : error);
        return Reflect.apply(write, request, given.with(-1, done));
      };
    });
    // That of the agent. The system tries to connect for two minutes.
    request.on("timeout", () => {
      const isOpening = (state: string) => Reflect.get(request.socket ?? {}, state);
      if (isOpening("connecting") || isOpening("secureConnecting"))
        request.destroy(new ConnectError("no connection in time", Code.Unavailable));
    });
    addRequest(request, to);
  };
  return agent;
}

/**
 * `fetch` by an agent: with certificates of files, and without redirects, which a proxy must not follow.
 * A GET that a kept connection loses is sent once more. Others may have been processed.
 */
function fetchBy(agent: http.Agent, own: Readonly<Record<string, string>>): typeof fetch {
  const { request } = agent instanceof https.Agent ? https : http;
  const send = (isFirst: boolean, ...[url, init = {}]: Parameters<typeof fetch>) =>
    new Promise<Response>((resolve, reject) => {
      const { method = "GET", headers, body, signal } = init;
      const given = Object.fromEntries(new Headers(headers));
      const fields = { ...given, "accept-encoding": "identity", ...own };
      const options = { agent, maxHeaderSize, method, headers: fields, ...(signal && { signal }) };
      const outgoing = request(`${url}`, options);
      // Node sends a DELETE's body without a length by default: the upstream reads it as a request.
      if (body) outgoing.useChunkedEncodingByDefault = true;
      const lose = (error: NodeJS.ErrnoException) => {
        const isStale = outgoing.reusedSocket && /^(?:ECONNRESET|EPIPE)$/.test(`${error.code}`);
        // A server that shuts down has closed all that are idle.
        if (isStale) for (const idle of Object.values(agent.freeSockets).flat()) idle?.destroy();
        const isSafe = method === "GET" || method === "HEAD"; // RFC 9112 section 9.3.1
        if (isFirst && isStale && isSafe) resolve(send(false, url, init));
        else reject(socketError(error));
      };
      outgoing.on("error", lose);
      outgoing.on("response", (incoming) => {
        outgoing.off("error", lose);
        // Node takes a body without a length for whole when its connection is reset.
        outgoing.on("error", (error) => incoming.complete || incoming.destroy(error));
        const { statusCode: status = 0, rawHeaders } = incoming;
        const isEmpty = method === "HEAD" || status === 204 || status === 205 || status === 304;
        if (isEmpty) incoming.resume();
        try {
          if (status > 599) throw new ConnectError(`HTTP ${status}`, Code.Unknown); // fetch has none
          const { "content-encoding": coding = "" } = incoming.headers;
          if (!isEmpty && !/^(?:identity)?$/i.test(coding)) {
            const problem = `HTTP ${status} in ${coding}, which was not asked for`;
            throw new ConnectError(problem, Code.Unknown);
          }
          const received = new Headers();
          for (let i = 0; i < rawHeaders.length; i += 2)
            received.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "");
          const content = isEmpty ? null : (Readable.toWeb(incoming) as ReadableStream<Uint8Array>);
          resolve(new Response(content as BodyInit | null, { status, headers: received }));
        } catch (error) {
          outgoing.destroy();
          reject(ConnectError.from(error)); // a header that there is not
        }
      });
      if (!(body instanceof ReadableStream)) outgoing.end(body ?? undefined);
      else pipeline(Readable.fromWeb(body as never), outgoing, (error) => error && reject(error));
    });
  return (...given) => send(true, ...given);
}
