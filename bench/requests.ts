/** The bytes of requests without the id, and the expected answers. */
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import {
  CreatePlantRequestSchema,
  CreatePlantResponseSchema,
  PlantService,
} from "../gen/plantstore/v1/plant_service_pb.ts";
import { plant, plantJson } from "./plant.ts";

/** The form of a row's requests. */
export type RequestKind = "rest" | "connect" | "mcp" | "grpc";
export type Http1RequestKind = Exclude<RequestKind, "grpc">;

/** Sent to every server. Only plant-store checks it. */
export const token = "a-token-that-is-as-long-as-real-ones-are";
export const createPlantPath: string = `/${PlantService.typeName}/${PlantService.method.createPlant.name}`;

interface Http1Form {
  readonly path: string;
  readonly headers: string;
  /** The body up to the id, and after the plant's last member. */
  readonly before: string;
  readonly end: string;
}

const mcpMeta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const http1Requests: Record<Http1RequestKind, Http1Form> = {
  rest: { path: "/plants", headers: "", before: '{"id":', end: "}" },
  connect: {
    path: createPlantPath,
    headers: "connect-protocol-version: 1\r\n",
    before: '{"plant":{"id":',
    end: "}}",
  },
  mcp: {
    path: "/mcp",
    headers:
      "accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\n" +
      "mcp-method: tools/call\r\nmcp-name: create_plant\r\n",
    before:
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_plant",' +
      `"_meta":${JSON.stringify(mcpMeta)},"arguments":{"plant":{"id":`,
    end: "}}}}",
  },
};

/** A complete HTTP/1.1 request. The id, in 16 digits, goes between the two parts. */
export function http1Request(
  kind: Http1RequestKind,
  host: string,
): { readonly before: string; readonly after: string } {
  const { path, headers, before, end } = http1Requests[kind];
  const after = `,"name":"${plant.name}","tag":"${plant.tag}"${end}`;
  const head =
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n` +
    `content-type: application/json\r\n${headers}` +
    `content-length: ${before.length + 16 + after.length}\r\n\r\n`;
  return { before: head + before, after };
}

const responseJson = toJsonString(
  CreatePlantResponseSchema,
  create(CreatePlantResponseSchema, { plant }),
);

/** The bodies of correct answers, or how one of JSON-RPC continues. */
export const answers: Record<RequestKind, Buffer> = {
  rest: plantJson,
  connect: Buffer.from(responseJson),
  mcp: Buffer.from(`"structuredContent":${responseJson},"content":[`),
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
