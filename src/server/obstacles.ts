/** Messages for what prevents the store from creating plants. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { RestError } from "connect-gateway";
import type { Log } from "connect-gateway/logging";
import type { Obstacle } from "../plant.ts";
import type { OnObstacle, OnUnreachable } from "../store/options.ts";
import type { CommitMetrics } from "./commit-metrics.ts";

/** Public: `/readyz` needs no token. Hosts, paths and codes go to the log only. */
const words: Readonly<Record<Exclude<Obstacle, "closed">, string>> = {
  failed: "the store has failed for good, and the server ends",
  unreachable: "the database cannot be reached",
  disk_full: "the disk of the store is full",
  locked: "the store is locked by another program",
  forbidden: "the database denies a right that is needed",
  read_only: "the database is read-only",
  not_durable: "the store would not keep plants through a crash",
  damaged: "the database is not as it was opened",
  unwritable: "writes to the store fail",
};

/** @returns a callback that logs each change. The store's owner reports a permanent failure. */
export function reportObstacles(log: Log): OnObstacle {
  return (obstacle, cause) => {
    if (obstacle === "closed" || obstacle === "failed") return;
    if (obstacle === undefined) log.info("ready: the store accepts plants again");
    else log.warn(`not ready: ${words[obstacle]}`, cause);
  };
}

/** @returns a callback that logs and counts the nodes of a cluster that cannot be reached. */
export function reportUnreachable(
  log: Log,
  metrics?: Pick<CommitMetrics, "nodesUnreachable">,
): OnUnreachable {
  return (nodes) => {
    metrics?.nodesUnreachable(nodes.length);
    if (nodes.length === 0) log.info("every node of the database can be reached again");
    else log.warn(`cannot connect to these nodes of the database: ${nodes.join(", ")}`);
  };
}

export function explainUnready(failure: RestError, obstacle: Obstacle | undefined): RestError {
  const isReason = obstacle !== undefined && obstacle !== "closed";
  if (!isReason || failure.error.code !== Code.Unavailable) return failure;
  const message = `${failure.error.rawMessage}: ${words[obstacle]}`;
  return { ...failure, error: new ConnectError(message, Code.Unavailable) };
}
