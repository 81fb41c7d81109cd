import { availableParallelism, cpus, release, totalmem, type } from "node:os";
import { pinning } from "./cores.ts";
import { fileSystemOf } from "./store-folder.ts";

/** The environment, without which the figures mean nothing. */
export function describeMachine(folder: string, wrk: string | undefined): readonly string[] {
  const model = cpus()[0]?.model ?? "unknown processor";
  return [
    `${availableParallelism()} cores of ${model}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
    `Node ${process.versions.node}, load by ${wrk ?? "no wrk"} (HTTP/1.1) and bench/load (gRPC, and all latencies at 80 %)`,
    pinning,
    `stores on ${fileSystemOf(folder)}`,
  ];
}
