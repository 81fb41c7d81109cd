/** Each protocol written by hand, so that a test can send what no client would. */
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { envelope, parseEnvelopes } from "../../../packages/gateway/test/support/envelope.ts";
import {
  exchange,
  type HttpResponse,
  type HttpVersion,
} from "../../../packages/gateway/test/support/http-exchange.ts";
import {
  createPlantPath,
  newPlantJson,
  outcomeFromBinary,
  outcomeFromJson,
  refusalFrom,
  requestBinary,
  requestJson,
} from "./message.ts";
import {
  authorizationOf,
  type CallOptions,
  type Outcome,
  type PlantInput,
  type Protocol,
} from "./protocol.ts";

export interface RawProtocol extends Protocol {
  readonly version: HttpVersion;
  readonly path: string;
  readonly contentType: string;
  /** The CreatePlant request in the encoding of the protocol. */
  encode(plant: PlantInput): Uint8Array;
  /** The body that contains the message. */
  frame(message: Uint8Array): Uint8Array;
  read(response: HttpResponse): Outcome;
  /** Sends bytes instead of a valid message. */
  send(url: string, message: Uint8Array, options?: CallOptions): Promise<Outcome>;
}

type Wire = Omit<RawProtocol, "version" | "open" | "send">;

const rest: Wire = {
  name: "REST",
  path: "/plants",
  contentType: "application/json",
  encode: (plant) => Buffer.from(newPlantJson(plant)),
  frame: (message) => message,
  read({ status, headers: metadata, body }) {
    const { error: code, message, ...ok } = JSON.parse(body.toString("utf8"));
    if (status === 200) return { ok };
    return { code, message, violations: undefined, retryDelayMs: undefined, metadata };
  },
};

const connectJson: Wire = {
  ...rest,
  name: "Connect JSON",
  path: createPlantPath,
  encode: (plant) => Buffer.from(requestJson(plant)),
  read: (response) => readConnect(response, (body) => outcomeFromJson(body.toString("utf8"))),
};

const connectBinary: Wire = {
  ...connectJson,
  name: "Connect binary",
  contentType: "application/proto",
  encode: requestBinary,
  read: (response) => readConnect(response, outcomeFromBinary),
};

const grpc: Wire = {
  ...connectBinary,
  name: "gRPC",
  contentType: "application/grpc",
  frame: (message) => envelope(message),
  read(response) {
    const { headers, trailers, body } = response;
    const end = headers.has("grpc-status") ? headers : trailers;
    return readGrpc(response, end, parseEnvelopes(body)[0]?.message);
  },
};

const grpcWeb: Wire = {
  ...grpc,
  name: "gRPC-Web",
  contentType: "application/grpc-web+proto",
  read(response) {
    const envelopes = parseEnvelopes(response.body);
    const message = envelopes.find(({ flags }) => flags === 0)?.message;
    const trailer = envelopes.find(({ flags }) => (flags & 0x80) !== 0)?.message;
    const end = trailer === undefined ? response.headers : parseTrailer(trailer);
    return readGrpc(response, end, message);
  },
};

function readConnect({ status, headers, body }: HttpResponse, read: (body: Buffer) => Outcome) {
  if (status === 200) return read(body);
  const fallback = new ConnectError(`HTTP ${status}`, Code.Unknown);
  return refusalFrom(errorFromJsonBytes(new Uint8Array(body), headers, fallback));
}

function readGrpc({ status }: HttpResponse, end: Headers, message: Buffer | undefined): Outcome {
  if (status !== 200) throw new Error(`HTTP ${status} in place of a grpc-status`);
  const error = findTrailerError(end);
  if (error !== undefined) return refusalFrom(error);
  if (end.get("grpc-status") !== "0" || message === undefined) throw new Error("no grpc-status");
  return outcomeFromBinary(message);
}

function parseTrailer(message: Buffer): Headers {
  const fields = message.toString("latin1").matchAll(/^(.*?): *(.*?) *\r$/gm);
  return new Headers(
    [...fields].map(([, name = "", value = ""]): [string, string] => [name, value]),
  );
}

function over(version: HttpVersion, wire: Wire): RawProtocol {
  async function send(url: string, message: Uint8Array, options: CallOptions = {}) {
    const { origin, pathname } = new URL(url);
    const path = (pathname === "/" ? "" : pathname) + wire.path;
    const authorization = authorizationOf(options);
    const headers = {
      "content-type": wire.contentType,
      ...(authorization !== null && { authorization }),
      ...(wire === grpc && { te: "trailers" }),
    };
    const body = wire.frame(message);
    return wire.read(await exchange({ origin, version, path, headers, body }));
  }
  return {
    ...wire,
    name: `${wire.name} over HTTP/${version}`,
    version,
    send,
    open: (url) => ({
      create: (plant, options) => send(url, wire.encode(plant), options),
      [Symbol.dispose]: () => {},
    }),
  };
}

/** gRPC needs HTTP/2; all others work on both. */
export const rawProtocols: readonly RawProtocol[] = [
  ...[rest, connectJson, connectBinary, grpcWeb].flatMap((wire) => [
    over("1.1", wire),
    over("2", wire),
  ]),
  over("2", grpc),
];
