import { plantId } from "../plant-ids.ts";
import type { Connection, Target } from "./connection.ts";
import { openGrpcConnection } from "./grpc-connection.ts";
import { openHttp1Connection } from "./http1-connection.ts";
import type { Load, LoadResult } from "./load.ts";
import { Run } from "./run.ts";

/** Runs a load in this process. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { hostname, port } = new URL(load.url);
  const run = new Run(load);
  let n = 0;
  const target: Target = {
    host: hostname,
    port: Number(port),
    nextId: () => plantId(load.ids, n++),
    answers: run.answers,
  };
  const connections: Connection[] = [];
  try {
    while (connections.length < load.connections) connections.push(await open(load, target));
    const firstCalls = n;
    const { created, ...rest } = await run.over(connections);
    return { ...rest, created: firstCalls + created, unanswered: 0 };
  } finally {
    for (const connection of connections) connection.close();
  }
}

function open({ kind, streams }: Load, target: Target): Promise<Connection> {
  return kind === "grpc" ? openGrpcConnection(target, streams) : openHttp1Connection(target, kind);
}
