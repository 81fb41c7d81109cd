import { ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { openProtocols } from "../../../packages/gateway/test/support/open-client.ts";
import { createPlantPath, requestBinary } from "./message.ts";
import { authorizationOf, type Protocol } from "./protocol.ts";
import { outcomeFrom, outcomeFromBinary, rawProtocols, refusalFrom } from "./raw.ts";

const connectEs = openProtocols.map(
  (protocol): Protocol => ({
    name: `the client of connect-es, ${protocol.name}`,
    open(url) {
      const opened = protocol.open(PlantService, url);
      return {
        async create(plant, { timeoutMs, ...options } = {}) {
          const authorization = authorizationOf(options);
          const call = {
            ...(authorization !== null && { headers: { authorization } }),
            ...(timeoutMs !== undefined && { timeoutMs }),
          };
          try {
            return outcomeFrom(await opened.client.createPlant({ plant }, call));
          } catch (error) {
            if (error instanceof ConnectError) return refusalFrom(error);
            throw error;
          }
        },
        [Symbol.dispose]: () => opened[Symbol.dispose](),
      };
    },
  }),
);

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
  // What is only an other version of HTTP is among the raw ones.
  ...connectEs.filter(({ name }) => !name.endsWith("gRPC-Web over HTTP/2")),
  grpcJs,
];

export function labelOf(protocolName: string): string {
  if (protocolName.includes("gRPC-Web")) return "grpc-web";
  if (protocolName.includes("gRPC")) return "grpc";
  return protocolName.includes("Connect") ? "connect" : "rest";
}
