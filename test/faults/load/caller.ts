import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import { Code } from "@connectrpc/connect";
import {
  type HttpResponse,
  headersFrom,
} from "../../../packages/gateway/test/support/http-exchange.ts";
import type { Outcome } from "../../support/protocol/protocol.ts";
import { type RawProtocol, rawProtocols } from "../../support/protocol/raw.ts";
import { knownToken } from "../../support/test-server.ts";
import type { RequestOutcome, TestPlant } from "../history/history.ts";
import { patienceMs } from "../start-server.ts";

/** One protocol to one server, on persistent connections, as in careful clients. */
export interface Caller extends Disposable {
  readonly protocol: string;
  /**
   * @param deadlineMs Sent to the server. The caller itself waits longer, so that the server has to
   * meet it.
   * @param leave Aborts the request like a client that leaves.
   */
  create(plant: TestPlant, deadlineMs: number, leave?: AbortSignal): Promise<RequestOutcome>;
}

export interface CallerOptions {
  /** Called for each request. Default: the token of the tests. */
  readonly token?: () => string;
}

/** A caller for each protocol to each server. Over TLS, they accept any certificate. */
export function openCallers(
  urls: string | readonly string[],
  options: CallerOptions = {},
): readonly Caller[] & Disposable {
  const callers = [urls]
    .flat()
    .flatMap((url) => rawProtocols.map((protocol) => openCaller(protocol, url, options)));
  return Object.assign(callers, {
    [Symbol.dispose]() {
      for (const caller of callers) caller[Symbol.dispose]();
    },
  });
}

/** One request over REST, on a connection of its own. @returns its outcome, in a word. */
export async function createOnce(url: string, plant: TestPlant): Promise<string> {
  using callers = openCallers(url);
  const [caller] = callers;
  if (caller === undefined) throw new Error("no caller");
  return wordFor(await caller.create(plant, patienceMs));
}

export function wordFor(outcome: RequestOutcome): string {
  if (outcome.kind === "failed") return outcome.reason;
  return outcome.kind === "unknown" ? outcome.why : outcome.kind;
}

/**
 * If there is no answer this long after the deadline, there will be none: no machine is that busy.
 * This finds servers that hang until something ends.
 */
const overdueMs = 60_000;

export type Send = (body: Uint8Array, headers: Fields, end: AbortSignal) => Promise<HttpResponse>;
export type Fields = Readonly<Record<string, string>>;

function openCaller(
  protocol: RawProtocol,
  url: string,
  { token = () => knownToken }: CallerOptions,
): Caller {
  const [send, close] =
    protocol.version === "1.1" ? overHttp1(url, protocol.path) : overHttp2(url, protocol.path);

  async function create(plant: TestPlant, deadlineMs: number, leave?: AbortSignal) {
    const patience = AbortSignal.timeout(deadlineMs + overdueMs);
    const end = leave === undefined ? patience : AbortSignal.any([patience, leave]);
    const body = protocol.frame(protocol.encode(plant));
    let response: HttpResponse;
    try {
      response = await send(body, headersOf(protocol, token(), deadlineMs), end);
    } catch {
      return unknown(patience.aborted ? "unanswered" : "cut");
    }
    try {
      return outcomeOf(protocol.read(response));
    } catch (error) {
      const text = response.body.toString("latin1", 0, 200);
      return { kind: "failed", reason: `${protocol.name}: ${error}: ${text}` } as const;
    }
  }

  return { protocol: protocol.name, create, [Symbol.dispose]: close };
}

function headersOf({ contentType }: RawProtocol, token: string, deadlineMs: number): Fields {
  const isGrpc = contentType.startsWith("application/grpc");
  return {
    authorization: `Bearer ${token}`,
    "content-type": contentType,
    ...(isGrpc ? { "grpc-timeout": `${deadlineMs}m` } : { "connect-timeout-ms": `${deadlineMs}` }),
    ...(contentType === "application/grpc" && { te: "trailers" }),
  };
}

function outcomeOf(outcome: Outcome): RequestOutcome {
  if ("ok" in outcome) return { kind: "stored", answer: outcome.ok };
  switch (outcome.code) {
    case Code.AlreadyExists:
      return { kind: "taken" };
    case Code.InvalidArgument:
      return { kind: "invalid" };
    case Code.DeadlineExceeded:
      return unknown("deadline");
    case Code.Unavailable:
      return unknown("unavailable");
    case Code.Canceled:
      return unknown("cut");
    default:
      return { kind: "failed", reason: `${Code[outcome.code]}: ${outcome.message}` };
  }
}

function unknown(why: "deadline" | "unavailable" | "cut" | "unanswered") {
  return { kind: "unknown", why } as const;
}

const anyCertificate = { rejectUnauthorized: false };

export function overHttp1(url: string, path: string): [Send, () => void] {
  const protocol = url.startsWith("https:") ? https : http;
  const agent = new protocol.Agent({ keepAlive: true, ...anyCertificate });
  const send: Send = (body, headers, signal) => {
    const answer = Promise.withResolvers<HttpResponse>();
    const options = { method: "POST", agent, headers, signal };
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
  };
  return [send, () => agent.destroy()];
}

export function overHttp2(url: string, path: string): [Send, () => void] {
  let session: http2.ClientHttp2Session | undefined;

  function open(): http2.ClientHttp2Session {
    if (session !== undefined && !session.destroyed && !session.closed) return session;
    session = http2.connect(url, anyCertificate);
    // Each of its streams reports the error itself.
    session.on("error", () => {});
    return session;
  }

  const send: Send = (body, headers, signal) => {
    const answer = Promise.withResolvers<HttpResponse>();
    const stream = open().request({ ":method": "POST", ":path": path, ...headers }, { signal });
    let head: http2.IncomingHttpHeaders = {};
    let trailers = new Headers();
    let bytes: Buffer | undefined;
    stream.once("response", (fields) => {
      head = fields;
    });
    stream.once("trailers", (fields) => {
      trailers = headersFrom(fields);
    });
    collect(stream, (all) => {
      bytes = all;
    });
    stream.once("error", answer.reject);
    stream.once("close", () => {
      const { ":status": status, ...fields } = head as typeof head & { ":status"?: number };
      const isWhole = stream.rstCode === http2.constants.NGHTTP2_NO_ERROR && !stream.aborted;
      if (!isWhole || bytes === undefined || status === undefined) {
        answer.reject(new Error("the stream was cut"));
      } else {
        answer.resolve({ status, headers: headersFrom(fields), trailers, body: bytes });
      }
    });
    stream.end(body);
    return answer.promise;
  };
  return [send, () => session?.destroy()];
}

function collect(stream: NodeJS.ReadableStream, onEnd: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.once("end", () => onEnd(Buffer.concat(chunks)));
}
