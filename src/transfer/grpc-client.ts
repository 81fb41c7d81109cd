import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import {
  CreatePlantRequestSchema,
  PlantService,
} from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { NewPlant, NothingLeft } from "../plant.ts";
import { Http2Connection } from "./http2-connection.ts";
import { callUnary } from "./unary-call.ts";

/** Creates plants on a server, over one connection of gRPC. */
export interface PlantCreator {
  /** @throws {ConnectError} */
  create(plant: NewPlant): Promise<void>;
  /** Ends the connection, and calls that are under way with it: a signal for each call costs more. */
  close(): void;
}

export interface PlantCreatorOptions {
  /** `http://` speaks HTTP/2 at once, `https://` TLS. It may have a path. */
  readonly url: string;
  readonly token: string;
  /** Certificates in PEM to trust, in place of Node's. */
  readonly ca?: string | undefined;
  /** A plant takes milliseconds; who has no answer by then asks again, which is safe. Default: 15 s. */
  readonly timeoutMs?: number;
  /** A server that says nothing is asked after that long, and has as long to answer. Default: 5 s. */
  readonly quietMsMax?: number;
}

/**
 * The calls go to node:http2 itself: through the transport of connect-node each
 * takes six times the CPU, and calls are what an import spends most of its on.
 */
export function createPlantCreator(options: PlantCreatorOptions): PlantCreator {
  const { url, token, ca, timeoutMs = 15_000, quietMsMax = 5000 } = options;
  const connection = new Http2Connection(url, { ca, quietMsMax });
  const headers = {
    ":method": "POST",
    ":path": pathBelow(url),
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": `${timeoutMs}m`,
    "user-agent": "plant-store-import",
    authorization: `Bearer ${token}`,
  };
  return {
    async create({ id, name, tag, ...rest }) {
      rest satisfies NothingLeft;
      const plant = tag === undefined ? { id, name } : { id, name, tag };
      const message = create(CreatePlantRequestSchema, { plant });
      const body = encodeEnvelope(0, toBinary(CreatePlantRequestSchema, message));
      try {
        await callUnary(await connection.session(), { headers, body, timeoutMs });
      } catch (error) {
        throw ConnectError.from(error, Code.Unavailable);
      }
    },
    close: () => connection.close(),
  };
}

function pathBelow(url: string): string {
  const { typeName, method } = PlantService;
  const base = new URL(url).pathname.replace(/\/$/, "");
  return `${base}/${typeName}/${method.createPlant.name}`;
}
