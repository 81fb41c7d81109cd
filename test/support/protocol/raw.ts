/** Each protocol written by hand, so that a test can send what no client would. */
import { fromBinary, fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJsonBytes } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { BadRequestSchema, RetryInfoSchema } from "connect-gateway/protos";
import {
  type CreatePlantResponse,
  PlantService,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { envelope, parseEnvelopes } from "../../../packages/gateway/test/support/envelope.ts";
import {
  exchange,
  type HttpRequest,
  type HttpResponse,
  type HttpVersion,
} from "../../../packages/gateway/test/support/exchange.ts";
import { createPlantPath, newPlantJson, requestBinary, requestJson } from "./message.ts";
import {
  authorizationOf,
  type CallOptions,
  type Outcome,
  type PlantInput,
  type Protocol,
  type Refusal,
} from "./protocol.ts";

export interface RawProtocol extends Protocol {
  readonly version: HttpVersion;
  readonly path: string;
  readonly contentType: string;
  /** The CreatePlant request in the encoding of the protocol. */
  encode(plant: PlantInput): Uint8Array;
  read(response: HttpResponse): Outcome;
  /** The POST that contains the message. */
  request(message: Uint8Array, options?: RequestOptions): RawRequest;
  /** Sends bytes instead of a valid message. */
  send(url: string, message: Uint8Array, options?: CallOptions): Promise<Outcome>;
}

export type RawRequest = Required<Pick<HttpRequest, "version" | "path" | "headers">> & {
  readonly body: Buffer;
};

interface RequestOptions extends CallOptions {
  /** How the message is compressed. */
  readonly coding?: string | undefined;
}

type Wire = Omit<RawProtocol, "version" | "open" | "request" | "send">;

const { output } = PlantService.method.createPlant;

const rest: Wire = {
  name: "REST",
  path: "/plants",
  contentType: "application/json",
  encode: (plant) => Buffer.from(newPlantJson(plant)),
  read({ status, headers: metadata, body }) {
    const json = JSON.parse(`${body}`);
    if (status === 200) return { ok: json };
    const { error: code, message } = json;
    return { code, message, status, violations: undefined, retryDelayMs: undefined, metadata };
  },
};

const connectJson: Wire = {
  ...rest,
  name: "Connect JSON",
  path: createPlantPath,
  encode: (plant) => Buffer.from(requestJson(plant)),
  read: (response) =>
    readConnect(response, (body) => outcomeFrom(fromJsonString(output, `${body}`))),
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

export function outcomeFromBinary(bytes: Uint8Array): Outcome {
  return outcomeFrom(fromBinary(output, bytes));
}

export function outcomeFrom({ plant }: CreatePlantResponse): Outcome {
  const { name, tag } = plant ?? {};
  if (name === undefined) throw new Error("the answer has no plant with a name");
  return { ok: tag === undefined ? { name } : { name, tag } };
}

export function refusalFrom(error: ConnectError): Refusal {
  const [badRequest] = error.findDetails(BadRequestSchema);
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return {
    code: error.code,
    message: error.rawMessage,
    violations: badRequest?.fieldViolations.map(({ field }) => field),
    retryDelayMs: delay && Number(delay.seconds) * 1000 + delay.nanos / 1e6,
    metadata: error.metadata,
  };
}

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
  const isGrpc = wire.contentType.startsWith("application/grpc");

  function request(message: Uint8Array, options: RequestOptions = {}): RawRequest {
    const { timeoutMs, coding } = options;
    const authorization = authorizationOf(options);
    const timeout = isGrpc
      ? { "grpc-timeout": `${timeoutMs}m` }
      : { "connect-timeout-ms": `${timeoutMs}` };
    const headers = {
      "content-type": wire.contentType,
      ...(authorization !== null && { authorization }),
      ...(timeoutMs !== undefined && timeout),
      ...(coding !== undefined && { [isGrpc ? "grpc-encoding" : "content-encoding"]: coding }),
      ...(wire === grpc && { te: "trailers" }),
    };
    const body = isGrpc ? envelope(message, coding === undefined ? 0 : 1) : Buffer.from(message);
    return { version, path: wire.path, headers, body };
  }

  async function send(url: string, message: Uint8Array, options?: CallOptions) {
    const { origin, pathname } = new URL(url);
    const asked = request(message, options);
    const path = (pathname === "/" ? "" : pathname) + wire.path;
    return wire.read(await exchange({ ...asked, origin, path }));
  }
  return {
    ...wire,
    name: `${wire.name} over HTTP/${version}`,
    version,
    request,
    send,
    open: (url) => ({
      create: (plant, options) => send(url, wire.encode(plant), options),
      [Symbol.dispose]: () => {},
    }),
  };
}

export const restOverHttp1 = over("1.1", rest);

/** gRPC needs HTTP/2; all others work on both. */
export const rawProtocols: readonly RawProtocol[] = [
  restOverHttp1,
  over("2", rest),
  ...[connectJson, connectBinary, grpcWeb].flatMap((wire) => [over("1.1", wire), over("2", wire)]),
  over("2", grpc),
];
