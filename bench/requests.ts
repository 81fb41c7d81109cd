/** The bytes of requests without the id, and the expected answers. */
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import {
  CreatePlantRequestSchema,
  CreatePlantResponseSchema,
  PlantService,
} from "../gen/plantstore/v1/plant_service_pb.ts";
import { plant, plantJson } from "./plant.ts";

/** The form of a row's requests. */
export type RequestKind = "rest" | "connect" | "grpc";
export type Http1RequestKind = Exclude<RequestKind, "grpc">;

/** Sent to every server. Only plant-store checks it. */
export const token = "a-token-that-is-as-long-as-real-ones-are";
export const createPlantPath: string = `/${PlantService.typeName}/${PlantService.method.createPlant.name}`;

const http1Requests: Record<Http1RequestKind, { path: string; headers: string; before: string }> = {
  rest: { path: "/plants", headers: "", before: '{"id":' },
  connect: {
    path: createPlantPath,
    headers: "connect-protocol-version: 1\r\n",
    before: '{"plant":{"id":',
  },
};

/** A complete HTTP/1.1 request. The id, in 16 digits, goes between the two parts. */
export function http1Request(
  kind: Http1RequestKind,
  host: string,
): { readonly before: string; readonly after: string } {
  const { path, headers, before } = http1Requests[kind];
  const after = `,"name":"${plant.name}","tag":"${plant.tag}"}${kind === "connect" ? "}" : ""}`;
  const head =
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/json\r\n${headers}` +
    `content-length: ${before.length + 16 + after.length}\r\n\r\n`;
  return { before: head + before, after };
}

/** The bodies of correct answers. */
export const answers: Record<RequestKind, Buffer> = {
  rest: plantJson,
  connect: Buffer.from(
    toJsonString(CreatePlantResponseSchema, create(CreatePlantResponseSchema, { plant })),
  ),
  grpc: envelope(toBinary(CreatePlantResponseSchema, create(CreatePlantResponseSchema, { plant }))),
};

/** The body of a gRPC request: one uncompressed message. */
export function grpcBody(id: number): Buffer {
  const request = create(CreatePlantRequestSchema, { plant: { id: BigInt(id), ...plant } });
  return envelope(toBinary(CreatePlantRequestSchema, request));
}

export const grpcHeaders = {
  ":method": "POST",
  ":path": createPlantPath,
  "content-type": "application/grpc+proto",
  te: "trailers",
  authorization: `Bearer ${token}`,
} as const;

function envelope(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
