import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import { type AddressInfo, isIPv6 } from "node:net";
import { createClient } from "@connectrpc/connect";
import {
  type GrpcTransport,
  type GrpcTransportOptions,
  openGrpcTransport,
} from "../../src/client/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";

/** A server that answers as a test says, and a transport that calls it. */
export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  /** In the order in which they were opened. */
  readonly sessions: readonly ServerHttp2Session[];
  readonly transport: GrpcTransport;
  readonly catalog: ReturnType<typeof createClient<typeof CatalogService>>;
}

export type Answer = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  /** Names and values in turn, as received. */
  raw?: readonly string[],
) => void;

export interface FakeServerOptions extends Partial<GrpcTransportOptions> {
  readonly server?: ServerOptions;
  readonly port?: number;
  readonly host?: string;
}

export async function openFakeServer(
  answer: Answer,
  { server: serverOptions, port = 0, host = "127.0.0.1", ...options }: FakeServerOptions = {},
): Promise<FakeServer> {
  const sessions: ServerHttp2Session[] = [];
  const server = createServer(serverOptions ?? {});
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream: ServerHttp2Stream, headers, _flags, raw: string[]) => {
    stream.on("error", () => {});
    answer(stream, headers, raw);
  });
  server.listen(port, host);
  await once(server, "listening");
  const { port: bound } = server.address() as AddressInfo;
  const url = `http://${isIPv6(host) ? `[${host}]` : host}:${bound}`;
  const transport = openGrpcTransport({ url, ...options });
  return {
    ...{ url, sessions, transport },
    catalog: createClient(CatalogService, transport),
    async [Symbol.asyncDispose]() {
      transport.close();
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

/** The values of all fields of a name. Node's object joins them. */
export function valuesOf(raw: readonly string[] = [], name: string): readonly string[] {
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1] === name);
}

export const grpcHead = { ":status": 200, "content-type": "application/grpc+proto" } as const;

/** As gRPC wants it: headers, messages in their envelopes, trailers. */
export function answerWith(
  trailers: OutgoingHttpHeaders,
  { head = grpcHead, body = Buffer.alloc(5) }: { head?: OutgoingHttpHeaders; body?: Buffer } = {},
): Answer {
  return (stream) => {
    stream.resume();
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(body);
  };
}

/** All that there is, without a message. */
export function answerAtOnce(head: OutgoingHttpHeaders): Answer {
  return (stream) => {
    stream.resume();
    stream.respond(head, { endStream: true });
  };
}

export const answerOk: Answer = answerWith({ "grpc-status": "0" });
