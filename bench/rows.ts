import type { Program } from "./program.ts";
import {
  connectHttp1,
  connectHttp2,
  fastify,
  grpcJs,
  nodeHttp,
  nodeHttp2,
  plantStore,
} from "./programs.ts";
import type { RequestKind } from "./requests.ts";

/** One server over one protocol. To measure another is to add a row. */
export interface Row {
  readonly name: string;
  readonly kind: RequestKind;
  readonly program: Program;
  /** Names of the rows that it is set in relation to. */
  readonly peers: readonly string[];
}

export const rows: readonly Row[] = [
  { name: "node:http", kind: "rest", program: nodeHttp, peers: [] },
  { name: "Fastify", kind: "rest", program: fastify, peers: [] },
  { name: "connect-node, Connect JSON", kind: "connect", program: connectHttp1, peers: [] },
  {
    name: "plant-store, REST",
    kind: "rest",
    program: plantStore,
    peers: ["Fastify", "connect-node, Connect JSON"],
  },
  {
    name: "plant-store, Connect JSON",
    kind: "connect",
    program: plantStore,
    peers: ["connect-node, Connect JSON"],
  },
  { name: "node:http2", kind: "grpc", program: nodeHttp2, peers: [] },
  { name: "grpc-js", kind: "grpc", program: grpcJs, peers: [] },
  { name: "connect-node, gRPC", kind: "grpc", program: connectHttp2, peers: [] },
  {
    name: "plant-store, gRPC",
    kind: "grpc",
    program: plantStore,
    peers: ["grpc-js", "connect-node, gRPC"],
  },
];

/** The row that does least with the same transport. */
export function floorOf({ kind }: Row): string {
  return kind === "grpc" ? "node:http2" : "node:http";
}
