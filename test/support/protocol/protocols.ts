import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import {
  createPlantPath,
  outcomeFrom,
  outcomeFromBinary,
  refusalFrom,
  requestBinary,
} from "./message.ts";
import { authorizationOf, type Protocol } from "./protocol.ts";
import { rawProtocols } from "./raw.ts";

type Http2Options = { readonly baseUrl: string; readonly sessionManager: Http2SessionManager };

/** A client of connect-es. Over HTTP/1.1, the session manager stays idle. */
function connectEs(name: string, createTransport: (options: Http2Options) => Transport): Protocol {
  return {
    name,
    open(url) {
      const sessionManager = new Http2SessionManager(url);
      const client = createClient(PlantService, createTransport({ baseUrl: url, sessionManager }));
      return {
        async create(plant, { timeoutMs, ...options } = {}) {
          const authorization = authorizationOf(options);
          const call = {
            ...(authorization !== null && { headers: { authorization } }),
            ...(timeoutMs !== undefined && { timeoutMs }),
          };
          try {
            return outcomeFrom(await client.createPlant({ plant }, call));
          } catch (error) {
            if (error instanceof ConnectError) return refusalFrom(error);
            throw error;
          }
        },
        [Symbol.dispose]: () => sessionManager.abort(),
      };
    },
  };
}

/** gRPC with an independent implementation. */
export const grpcJs: Protocol = {
  name: "the gRPC client of grpc-js",
  open(url) {
    const { host, pathname } = new URL(url);
    const path = (pathname === "/" ? "" : pathname) + createPlantPath;
    const client = new Client(host, credentials.createInsecure());
    return {
      create(plant, { timeoutMs = Number.POSITIVE_INFINITY, ...options } = {}) {
        const authorization = authorizationOf(options);
        const metadata = new Metadata();
        if (authorization !== null) metadata.set("authorization", authorization);
        return new Promise((resolve) => {
          client.makeUnaryRequest(
            path,
            (bytes: Uint8Array) => Buffer.from(bytes),
            outcomeFromBinary,
            requestBinary(plant),
            metadata,
            { deadline: Date.now() + timeoutMs },
            (error, answer) => resolve(answer ?? refusalFrom(errorFrom(error as ServiceError))),
          );
        });
      },
      [Symbol.dispose]: () => client.close(),
    };
  },
};

function errorFrom({ code, details, metadata }: ServiceError): ConnectError {
  const headers = new Headers();
  for (const [name, value] of Object.entries(metadata.getMap())) {
    headers.set(name, typeof value === "string" ? value : value.toString("base64"));
  }
  return findTrailerError(headers) ?? new ConnectError(details, Number(code), headers);
}

/** All clients that the suite for all protocols runs with. */
export const protocols: readonly Protocol[] = [
  ...rawProtocols,
  connectEs("the Connect client, JSON over HTTP/1.1", (options) =>
    createConnectTransport({ ...options, httpVersion: "1.1", useBinaryFormat: false }),
  ),
  connectEs("the Connect client, binary over HTTP/2", (options) =>
    createConnectTransport({ ...options, httpVersion: "2" }),
  ),
  connectEs("the gRPC-Web client over HTTP/1.1", (options) =>
    createGrpcWebTransport({ ...options, httpVersion: "1.1" }),
  ),
  connectEs("the gRPC client of connect-es", createGrpcTransport),
  grpcJs,
];

/** The name of a protocol in logs and metrics. */
export function labelOf(protocolName: string): string {
  if (protocolName.includes("gRPC-Web")) return "grpc-web";
  if (protocolName.includes("gRPC")) return "grpc";
  return protocolName.includes("Connect") ? "connect" : "rest";
}
