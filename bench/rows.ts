import type { Bench } from "./bench.ts";
import type { Program } from "./program.ts";
import {
  axumAndTonic,
  connectHttp1,
  connectHttp2,
  fastify,
  fastifyDurable,
  grpcGateway,
  grpcGo,
  grpcJs,
  nodeHttp,
  nodeHttp2,
  plantStore,
} from "./programs.ts";
import type { RequestKind } from "./requests.ts";

/** One server with one protocol. Add a row to measure another. */
export interface Row {
  readonly name: string;
  readonly kind: RequestKind;
  readonly program: Program;
  /** Names of the rows that it is compared with. */
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
    peers: [
      "Fastify",
      "connect-node, Connect JSON",
      "Fastify, durable",
      "axum, durable",
      "grpc-gateway, durable",
    ],
  },
  { name: "Fastify, durable", kind: "rest", program: fastifyDurable, peers: [] },
  { name: "axum, durable", kind: "rest", program: axumAndTonic, peers: [] },
  { name: "grpc-gateway, durable", kind: "rest", program: grpcGateway, peers: [] },
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
    peers: ["grpc-js", "connect-node, gRPC", "tonic, durable", "grpc-go, durable"],
  },
  { name: "tonic, durable", kind: "grpc", program: axumAndTonic, peers: [] },
  { name: "grpc-go, durable", kind: "grpc", program: grpcGo, peers: [] },
];

/** The rows whose programs are available on this machine. Reports why the others are not. */
export async function findMeasurable(
  bench: Bench,
  wanted: readonly Row[],
): Promise<readonly Row[]> {
  const found: Row[] = [];
  for (const row of wanted) {
    const missing = await row.program.build?.();
    if (missing === undefined) found.push(row);
    else bench.log(`${row.name}: skipped, ${missing}`);
  }
  return found;
}

/** Adds the row's name to a failure. */
export async function named({ name }: Row, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (cause) {
    throw new Error(`${name} could not be measured`, { cause });
  }
}

/** The row that does the least with the same transport. */
export function floorOf({ kind }: Row): string {
  return kind === "grpc" ? "node:http2" : "node:http";
}
