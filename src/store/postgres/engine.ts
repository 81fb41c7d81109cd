import { randomBytes, randomInt } from "node:crypto";
import { type NewPlant, type Obstacle, plantFrom } from "../../plant.ts";
import type { Engine } from "../engine.ts";
import { type ClusterOptions, createCluster } from "./cluster.ts";
import { isOfRow, isSilent, mayPass, NoHost, obstacleFrom, remedyFor } from "./failure.ts";
import type { Inspection } from "./inspection.ts";
import { connectionsCeiling } from "./limits.ts";
import type { SessionPool } from "./pool.ts";
import type { Session } from "./session.ts";
import { type Outcomes, probeWrite } from "./writer.ts";

/** The part of a database that is not distributed. */
const whole = "";

/** Never fails for good: any problem of a server can be fixed while the store runs. */
export function createPostgresEngine(
  pool: SessionPool,
  inspection: Inspection,
  options: { connectionsMax: number } & Omit<ClusterOptions, "attempt">,
) {
  const { connectionsMax, limits } = options;
  /** By node, so that none waits for another. */
  const turns = new Map<string, ReturnType<typeof createTurns>>();
  /** Nodes whose last statement failed, but may succeed later. */
  const failing = new Set<string>();
  /** Since the last commit. A quota has no code of its own. One row may fit where no plant does. */
  let mayBeFull = false;
  /** Of the last commit. A partition or a full page of an index is only met by ids near it. */
  let lastId = 0n;
  const cluster = createCluster(pool, inspection, { ...options, attempt });

  /** For each node of a cluster, as far as the total allows. */
  function commitsMax(): number {
    const nodes = inspection.placement?.nodes.size ?? 1;
    return Math.max(1, Math.min(connectionsMax, Math.floor(connectionsCeiling / nodes)));
  }

  /** A commit on one node needs no second phase. If a node hangs, only its own plants wait. */
  function partOf(id: bigint): string {
    return inspection.placement?.nodeOf(id) ?? whole;
  }

  function nodes(): readonly string[] {
    return [...(inspection.placement?.nodes.keys() ?? [])];
  }

  function isEveryNodeFailing(): boolean {
    return nodes().length > 0 && nodes().every((name) => failing.has(name));
  }

  /** Random, so that probes of two servers do not wait for each other. Avoids failing nodes. */
  function idForProbe(wanted: string | undefined): bigint {
    for (;;) {
      const id = randomBytes(8).readBigInt64BE();
      const name = inspection.placement?.nodeOf(id);
      if (wanted !== undefined && name !== wanted) continue;
      if (name === undefined || isEveryNodeFailing() || !failing.has(name)) return id;
    }
  }

  function workerThatStores(): string | undefined {
    return nodes().find((name) => cluster.worker(name) !== undefined && !failing.has(name));
  }

  /** Checks and retries use a commit's turn, too, so that sessions stay within the limit. */
  async function attempt<T>(
    work: (session: Session) => Promise<T>,
    pool: SessionPool,
    node = whole,
  ): Promise<T> {
    const own = turns.get(node) ?? createTurns(commitsMax());
    turns.set(node, own);
    await own.take();
    try {
      return await pool.use(work);
    } finally {
      own.giveBack();
    }
  }

  return {
    commitsAhead: 0,
    isOfRow,
    obstacleFrom,
    partOf,
    inspect: cluster.inspect,
    openNodes: cluster.openNodes,
    close: cluster.close,
    get commitsMax() {
      return commitsMax();
    },
    /** With Citus, a statement costs more than its rows, and nodes work in parallel anyway. */
    get mergesCommits() {
      return inspection.placement !== undefined;
    },
    retries: {
      ...limits,
      mayHelp: (error: unknown) =>
        inspection.placement === undefined
          ? remedyFor(error) !== "none"
          : mayPass(error) && !isSilent(error),
      // If only a further session cannot be opened, the others still work.
      isSilent: (error: unknown, node: string) =>
        inspection.placement !== undefined &&
        isSilent(error) &&
        !(error instanceof NoHost && cluster.worker(node) !== undefined),
    },
    async commit(batch: readonly NewPlant[], node: string): Promise<Outcomes> {
      lastId = batch.at(-1)?.id ?? lastId;
      try {
        const outcomes = await cluster.write(batch, node);
        failing.delete(node);
        mayBeFull = false;
        return outcomes;
      } catch (error) {
        if (mayPass(error)) failing.add(node);
        mayBeFull ||= remedyFor(error) === "none";
        throw error;
      }
    },
    async probe(): Promise<void> {
      await cluster.inspect();
      const main = cluster.main();
      const worker = main.isUp ? undefined : workerThatStores();
      const id = idForProbe(worker);
      const near = BigInt.asIntN(64, lastId + BigInt(randomInt(1, 1000)));
      const ids = inspection.placement ? [id] : [id, near];
      // Two long rows need a second page. A constraint may take empty ones alone.
      const texts = mayBeFull ? [randomBytes(975).toString("base64"), ""] : [""];
      const tries = texts.flatMap((text) => {
        const rows = ids.map((id) => plantFrom(id, () => text));
        return [...(mayBeFull ? [rows] : []), ...rows.map((row) => [row])];
      });
      const write = (session: Session) => probeWrite(session, tries, limits.statementTimeoutMs);
      await attempt(write, cluster.worker(worker ?? "")?.pool ?? main);
      failing.delete(partOf(id));
    },
    obstacle(): Obstacle | undefined {
      const isUp = cluster.main().isUp || workerThatStores() !== undefined;
      return isUp && !isEveryNodeFailing() ? undefined : "unreachable";
    },
  } satisfies Engine & { openNodes(): Promise<void> };
}

/** Admits a limited number at a time, in order of arrival. Each turn that is taken must be given back. */
function createTurns(count: number) {
  let free = count;
  const waiting: (() => void)[] = [];
  return {
    async take(): Promise<void> {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    giveBack(): void {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    },
  };
}
