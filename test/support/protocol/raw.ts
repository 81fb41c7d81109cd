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

/** Converts a message to a protocol's HTTP request, and its answer to an outcome. */
export interface RawProtocol extends Protocol {
  readonly version: HttpVersion;
  readonly path: string;
  readonly contentType: string;
  readonly encoding: "json" | "binary";
  /** Encodes the CreatePlant request in the encoding of the protocol. */
  encode(plant: PlantInput): Uint8Array;
  /** The body that contains the message. */
  frame(message: Uint8Array): Uint8Array;
  read(response: HttpResponse): Outcome;
  /** Sends bytes instead of a valid message. */
  send(url: string, message: Uint8Array, options?: CallOptions): Promise<Outcome>;
}

type Wire = Pick<RawProtocol, "path" | "contentType" | "encoding" | "encode" | "frame" | "read"> & {
  readonly name: string;
};

const rest: Wire = {
  name: "REST",
  path: "/plants",
  contentType: "application/json",
  encoding: "json",
  encode: (plant) => Buffer.from(newPlantJson(plant)),
  frame: (message) => message,
  read({ status, headers, body }) {
    const json = JSON.parse(body.toString("utf8"));
    if (status === 200) return { ok: json };
    return {
      code: json.error,
      message: json.message,
      violations: undefined,
      retryDelayMs: undefined,
      metadata: headers,
      status,
    };
  },
};

const connectJson: Wire = {
  name: "Connect JSON",
  path: createPlantPath,
  contentType: "application/json",
  encoding: "json",
  encode: (plant) => Buffer.from(requestJson(plant)),
  frame: (message) => message,
  read: (response) => readConnect(response, (body) => outcomeFromJson(body.toString("utf8"))),
};

const connectBinary: Wire = {
  name: "Connect binary",
  path: createPlantPath,
  contentType: "application/proto",
  encoding: "binary",
  encode: requestBinary,
  frame: (message) => message,
  read: (response) => readConnect(response, outcomeFromBinary),
};

const grpc: Wire = {
  name: "gRPC",
  path: createPlantPath,
  contentType: "application/grpc",
  encoding: "binary",
  encode: requestBinary,
  frame: (message) => envelope(message),
  read(response) {
    const { headers, trailers, body } = response;
    const end = headers.has("grpc-status") ? headers : trailers;
    return readGrpc(response, end, parseEnvelopes(body)[0]?.message);
  },
};

const grpcWeb: Wire = {
  name: "gRPC-Web",
  path: createPlantPath,
  contentType: "application/grpc-web+proto",
  encoding: "binary",
  encode: requestBinary,
  frame: (message) => envelope(message),
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
  const bytes = new Uint8Array(body);
  return refusalFrom(errorFromJsonBytes(bytes, headers, fallback), status);
}

function readGrpc({ status }: HttpResponse, end: Headers, message: Buffer | undefined): Outcome {
  if (status !== 200) throw new Error(`HTTP ${status} in place of a grpc-status`);
  const error = findTrailerError(end);
  if (error !== undefined) return refusalFrom(error, status);
  if (end.get("grpc-status") !== "0" || message === undefined) throw new Error("no grpc-status");
  return outcomeFromBinary(message);
}

function parseTrailer(message: Buffer): Headers {
  const lines = message.toString("latin1").split("\r\n").filter(Boolean);
  return new Headers(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
  );
}

function over(version: HttpVersion, wire: Wire): RawProtocol {
  const name = `${wire.name} over HTTP/${version}`;
  async function send(url: string, message: Uint8Array, options: CallOptions = {}) {
    const { origin, pathname } = new URL(url);
    const prefix = pathname === "/" ? "" : pathname;
    const body = wire.frame(message);
    const headers = headersOf(wire, options);
    return wire.read(await exchange({ origin, version, path: prefix + wire.path, headers, body }));
  }
  return {
    ...wire,
    name,
    version,
    send,
    open: (url) => ({
      create: (plant, options) => send(url, wire.encode(plant), options),
      [Symbol.dispose]: () => {},
    }),
  };
}

function headersOf(wire: Wire, options: CallOptions): Record<string, string> {
  const authorization = authorizationOf(options);
  return {
    "content-type": wire.contentType,
    ...(authorization !== null && { authorization }),
    ...(wire === grpc && { te: "trailers" }),
  };
}

export const restOverHttp1 = over("1.1", rest);

/** gRPC needs HTTP/2; all others work on both. */
export const rawProtocols: readonly RawProtocol[] = [
  restOverHttp1,
  over("2", rest),
  over("1.1", connectJson),
  over("2", connectJson),
  over("1.1", connectBinary),
  over("2", connectBinary),
  over("1.1", grpcWeb),
  over("2", grpcWeb),
  over("2", grpc),
];
