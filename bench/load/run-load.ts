import { plantId } from "../plant-ids.ts";
import type { Connection, Target } from "./connection.ts";
import { openGrpcConnection } from "./grpc-connection.ts";
import { openHttp1Connection } from "./http1-connection.ts";
import type { Load, LoadResult } from "./load.ts";
import { Run } from "./run.ts";

/** Runs a load in this process. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const run = new Run(load);
  let n = 0;
  const targets = load.urls.map((url): Target => {
    const { hostname, port } = new URL(url);
    const nextId = () => plantId(load.ids, n++);
    return { host: hostname, port: Number(port), nextId, answers: run.answers };
  });
  const connections: Connection[] = [];
  try {
    for (let i = 0; i < load.connections; i++) {
      const target = targets[i % targets.length];
      if (target !== undefined) connections.push(await open(load, target));
    }
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
