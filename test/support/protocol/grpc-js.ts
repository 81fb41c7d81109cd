/** gRPC with an independent implementation. */
import { ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import {
  Client,
  credentials,
  type CallOptions as GrpcCallOptions,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import { createPlantPath, outcomeFromBinary, refusalFrom, requestBinary } from "./message.ts";
import { authorizationOf, type Outcome, type Protocol } from "./protocol.ts";

export const grpcJs: Protocol = {
  name: "the gRPC client of grpc-js",
  open(url) {
    const { host, pathname } = new URL(url);
    const path = (pathname === "/" ? "" : pathname) + createPlantPath;
    const client = new Client(host, credentials.createInsecure());
    return {
      create(plant, options = {}) {
        const authorization = authorizationOf(options);
        const metadata = new Metadata();
        if (authorization !== null) metadata.set("authorization", authorization);
        const { timeoutMs } = options;
        const call: GrpcCallOptions =
          timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
        const outcome = Promise.withResolvers<Outcome>();
        client.makeUnaryRequest(
          path,
          (bytes: Uint8Array) => Buffer.from(bytes),
          outcomeFromBinary,
          requestBinary(plant),
          metadata,
          call,
          (error, answer) => {
            if (error !== null) outcome.resolve(refusalFromService(error));
            else if (answer !== undefined) outcome.resolve(answer);
          },
        );
        return outcome.promise;
      },
      [Symbol.dispose]: () => client.close(),
    };
  },
};

function refusalFromService(error: ServiceError): Outcome {
  const metadata = new Headers();
  for (const [name, value] of Object.entries(error.metadata.getMap())) {
    metadata.set(name, typeof value === "string" ? value : value.toString("base64"));
  }
  const withDetails = findTrailerError(metadata);
  return refusalFrom(
    withDetails ?? new ConnectError(error.details, Number(error.code), metadata),
    undefined,
  );
}
