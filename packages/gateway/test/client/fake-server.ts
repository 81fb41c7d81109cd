import * as http2 from "node:http2";
import { type CallOptions, ConnectError, createClient } from "@connectrpc/connect";
import { expect } from "vitest";
import {
  type GrpcTransport,
  type GrpcTransportOptions,
  openGrpcTransport,
} from "../../src/client/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { listen } from "../support/free-port.ts";
import { within } from "../support/within.ts";

/** A server that answers as a test says, and a transport that calls it. */
export interface FakeServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** In the order in which they were opened. */
  readonly sessions: readonly http2.ServerHttp2Session[];
  readonly transport: GrpcTransport;
  readonly catalog: Catalog;
  /** The code with which the first stream to close did. */
  untilClosed(): Promise<number>;
}

export type Catalog = ReturnType<typeof createClient<typeof CatalogService>>;

/** Whoever calls a catalog. */
export type Caller = Pick<FakeServer, "catalog">;

export function openCaller(options: GrpcTransportOptions) {
  const transport = openGrpcTransport(options);
  const catalog = createClient(CatalogService, transport);
  return { transport, catalog, [Symbol.dispose]: () => transport.close() };
}

export type Answer = (
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  /** Names and values in turn, as received. */
  raw?: readonly string[],
) => void;

export interface FakeServerOptions extends Partial<GrpcTransportOptions> {
  readonly server?: http2.ServerOptions;
  readonly port?: number;
  readonly host?: string;
}

export async function openFakeServer(
  answer: Answer,
  { server: serverOptions, port = 0, host = "127.0.0.1", ...options }: FakeServerOptions = {},
): Promise<FakeServer> {
  const sessions: http2.ServerHttp2Session[] = [];
  const closed = Promise.withResolvers<number>();
  const server = http2.createServer(serverOptions ?? {});
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream: http2.ServerHttp2Stream, headers, _flags, raw: string[]) => {
    stream.on("error", () => {});
    stream.on("close", () => closed.resolve(stream.rstCode));
    answer(stream, headers, raw);
  });
  const listener = await listen(server, port, host);
  const { transport, catalog } = openCaller({ url: listener.url, ...options });
  return {
    ...{ ...listener, sessions, transport, catalog },
    untilClosed: () => within("the end of a stream", closed.promise),
    async [Symbol.asyncDispose]() {
      transport.close();
      for (const session of sessions) session.destroy();
      await listener[Symbol.asyncDispose]();
    },
  };
}

/** One unary call. */
export const call = ({ catalog }: Caller, options?: CallOptions) =>
  within("an answer", catalog.getVolume({ name: "shelves/a/volumes/1" }, options));

/** The error with which a call ends. */
export const failureOf = (call: Promise<unknown>) =>
  within("its end", call).then(
    () => expect.fail("the call went well"),
    (error: unknown) => {
      if (error instanceof ConnectError) return error;
      throw error;
    },
  );

/** The values of all fields of a name. Node's object joins them. */
export function valuesOf(raw: readonly string[] = [], name: string): readonly string[] {
  return raw.filter((_, i) => i % 2 === 1 && raw[i - 1] === name);
}

export const grpcHead = { ":status": 200, "content-type": "application/grpc+proto" } as const;

/** As gRPC wants it: headers, messages in their envelopes, trailers. */
export function answerWith(
  trailers: http2.OutgoingHttpHeaders,
  { head = grpcHead as http2.OutgoingHttpHeaders, body = Buffer.alloc(5) as Buffer } = {},
): Answer {
  return (stream) => {
    stream.resume();
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(body);
  };
}

/** All that there is, without a message. */
export function answerAtOnce(head: http2.OutgoingHttpHeaders): Answer {
  return (stream) => {
    stream.resume();
    stream.respond(head, { endStream: true });
  };
}

export const answerOk: Answer = answerWith({ "grpc-status": "0" });
