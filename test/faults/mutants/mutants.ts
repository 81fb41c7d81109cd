import { hostileMutants } from "./hostile.ts";
import { ioMutants } from "./io.ts";
import { limitMutants } from "./limits.ts";
import type { Mutant } from "./mutant.ts";
import { powerMutants } from "./power.ts";
import { tokenMutants } from "./tokens.ts";
import { upstreamMutants } from "./upstream.ts";

const checker = {
  file: "test/faults/history/check.ts",
  campaign: "test/faults/history/check.test.ts",
} as const;

export const mutants: readonly Mutant[] = [
  {
    ...checker,
    name: "the checker overlooks what is lost",
    find: "if (expected === undefined) continue;",
    replace: "continue;",
  },
  {
    ...checker,
    name: "the checker overlooks what has changed",
    find: "if (expected !== undefined && !isSameRow(row, expected)) {",
    replace: "if (expected === undefined && row === undefined) {",
  },
  {
    ...checker,
    name: "the checker lets ALREADY_EXISTS to the owner pass",
    find: "if (owner !== undefined && isSameRow(owner, storedForm(request.plant))) {",
    replace: "if (owner === undefined && request === undefined) {",
  },
  {
    ...checker,
    name: "the checker does not know deadlines",
    find: "lateMs > 0",
    replace: "lateMs === Number.POSITIVE_INFINITY",
  },
  {
    ...checker,
    name: "the checker excuses whatever is late where somebody had to wait for a CPU",
    find: "lateMs > starvedMs(startMs, endMs)",
    replace: "starvedMs(startMs, endMs) === 0",
  },
  {
    name: "the soak sees no slope",
    file: "test/faults/soak/slope.ts",
    find: "slope.lowest > limit",
    replace: "slope.lowest > limit && limit < 0",
    campaign: "test/faults/soak/report.test.ts",
  },
  {
    name: "the soak takes a warm-up for a slope",
    file: "test/faults/soak/slope.ts",
    find: "life.filter(({ atMs }) => atMs >= settledAt)",
    replace: "life.filter(() => settledAt >= 0)",
    campaign: "test/faults/soak/slope.test.ts",
  },
  {
    name: "SQLite: acknowledges, and writes a little later",
    file: "src/store/sqlite/writer.ts",
    find: "inTransaction(this.#db, () => {",
    replace: `
      const late = globalThis.late ?? [];
      globalThis.late = rows;
      inTransaction(this.#db, () => late.forEach((row) => this.#isTaken(row)));
      this.#db.exec("BEGIN IMMEDIATE");
      for (const [index, row] of rows.entries()) if (this.#isTaken(row)) taken.push(index);
      this.#db.exec("ROLLBACK");
      if (taken.length >= 0) return taken;
      inTransaction(this.#db, () => {`,
    campaign: "kill",
  },
  {
    name: "PostgreSQL: acknowledges, and writes a little later",
    file: "src/store/postgres/cluster.ts",
    find: "return await writeBatch((text, values) => session.query(text, values, timeoutMs), plants);",
    replace: `
          setTimeout(() => writeBatch(this.#queryOn(session), plants).catch(() => {}), 50);
          return plants.map(() => "created" as const);`,
    campaign: "kill",
  },
  {
    name: "PostgreSQL: takes a lost connection for a success",
    file: "src/store/postgres/engine.ts",
    find: "if (mayPass(error)) this.#failing.add(node);",
    replace: `if (remedyFor(error) === "elsewhere") return batch.map(() => "created" as const);`,
    campaign: "postgres",
  },
  {
    name: "Citus: does not ask whether the table was replaced",
    file: "src/store/postgres/coordinator.ts",
    find: "String(oid) === table &&",
    replace: "",
    campaign: "citus",
  },
  {
    name: "PostgreSQL: answers ALREADY_EXISTS to the owner's retry",
    file: "src/store/postgres/writer.ts",
    find: ": equal.has(plant);",
    replace: ": false;",
    campaign: "postgres",
  },
  {
    name: "PostgreSQL: takes a wait for the standby that was broken off for its word",
    file: "src/store/postgres/session.ts",
    find: "if (this.#isUnconfirmed) throw",
    replace: "if (this.#isUnconfirmed && result === undefined) throw",
    campaign: "postgres",
  },
  {
    name: "PostgreSQL: does not wait for the standby about what it finds",
    file: "src/store/postgres/writer.ts",
    find: "DO UPDATE SET name = kept.name WHERE false",
    replace: "DO NOTHING",
    campaign: "postgres",
  },
  {
    name: "SQLite: the second plant overwrites the first",
    file: "src/store/sqlite/writer.ts",
    find: "ON CONFLICT (id) DO NOTHING",
    replace: "ON CONFLICT (id) DO UPDATE SET name = excluded.name, tag = excluded.tag",
    campaign: "race",
  },
  {
    name: "SQLite: compares the names alone",
    file: "src/store/sqlite/writer.ts",
    find: 'join(" AND ");',
    replace: 'join(" AND ").replace("tag IS ?", "(tag IS ? OR true)");',
    campaign: "race",
  },
  {
    name: "PostgreSQL: the second plant overwrites the first",
    file: "src/store/postgres/writer.ts",
    find: "DO UPDATE SET name = kept.name WHERE false",
    replace: "DO UPDATE SET name = excluded.name, tag = excluded.tag",
    campaign: "race",
  },
  {
    name: "PostgreSQL: compares the names alone",
    file: "src/store/postgres/writer.ts",
    find: "textFields.map(isSameText)",
    replace: "textFields.slice(0, 1).map(isSameText)",
    campaign: "race",
  },
  {
    name: "PostgreSQL: compares the names alone within a batch",
    file: "src/store/postgres/writer.ts",
    find: "? isSamePlant(plant, first)",
    replace: "? plant.name === first.name",
    campaign: "race",
  },
  {
    name: "SQLite: a refusal crosses to the service as a success",
    file: "src/store/sqlite/thread.ts",
    find: 'for (const index of taken) outcomes[index] = "id_taken";',
    replace: "",
    campaign: "race",
  },
  {
    name: "the queue: a plant whose caller has left is written",
    file: "src/store/waiting-room.ts",
    find: "if (waiter.hasLeft) continue;",
    replace: "",
    campaign: "test/store/group-commit-queue.test.ts",
  },
  {
    name: "the queue: a plant whose caller has left is retried",
    file: "src/store/group-commit.ts",
    find: "if (waiter.hasLeft) continue;",
    replace: "",
    campaign: "test/store/group-commit-retries.mocked.test.ts",
  },
  {
    name: "the queue: a part of the database that hangs fills it",
    file: "src/store/waiting-room.ts",
    find: "waitingRowsMax / this.#shares",
    replace: "waitingRowsMax",
    campaign: "test/store/group-commit-parts.test.ts",
  },
  {
    name: "the queue: parts of the database share one",
    file: "src/store/group-commit.ts",
    find: "engine.partOf(id);",
    replace: 'engine.partOf(id) && "all";',
    campaign: "test/store/group-commit-parts.test.ts",
  },
  {
    name: "the queue: a drain forgets what is retried",
    file: "src/store/group-commit.ts",
    find: " && !this.#isRetrying;",
    replace: ";",
    campaign: "test/store/group-commit-retries.mocked.test.ts",
  },
  {
    name: "SQLite: a store that breaks tells nobody",
    file: "src/store/sqlite/thread.ts",
    find: "this.#onFailure?.(error);",
    replace: "",
    campaign: "test/store/sqlite-failure.test.ts",
  },
  {
    name: "SQLite: a broken store goes on writing",
    file: "src/store/sqlite/worker.ts",
    find: "else if (!isBroken) follow(request);",
    replace: "else follow(request);",
    campaign: "test/store/sqlite-failure.test.ts",
  },
  {
    name: "SQLite: a broken store takes plants",
    file: "src/store/sqlite/thread.ts",
    find: "if (this.#failure !== undefined) throw this.#failure;",
    replace: "",
    campaign: "test/store/sqlite-failure.test.ts",
  },
  {
    name: "SQLite: commits never look at the files",
    file: "src/store/sqlite/worker.ts",
    find: "if (now - filesCheckedAt >= filesCheckMs) {",
    replace: "if (now < 0) {",
    campaign: "test/store/sqlite-failure.test.ts",
  },
  {
    name: "Citus: plants of a node that hangs are retried",
    file: "src/store/postgres/engine.ts",
    find: "mayPass(error) && !isSilent(error)",
    replace: "mayPass(error)",
    campaign: "test/store/postgres/distributed.test.ts",
  },
  {
    name: "PostgreSQL: idle sessions of an old primary stay",
    file: "src/store/postgres/pool.ts",
    find: "        this.dropIdle();\n",
    replace: "",
    campaign: "test/store/postgres/fail-over.test.ts",
  },
  {
    name: "a doubt about a store stays for ever",
    file: "src/store/write-watch.ts",
    find: "    this.#isInDoubt = false;\n",
    replace: "",
    campaign: "test/store/write-watch.mocked.test.ts",
  },
  {
    name: "a database that cannot be reached is probed without a pause",
    file: "src/store/write-watch.ts",
    find: "      this.#nextProbeAt = performance.now() + pauseMs;\n",
    replace: "",
    campaign: "test/store/write-watch.mocked.test.ts",
  },
  {
    name: "obstacles are told after the stop",
    file: "src/store/write-watch.ts",
    find: "obstacle !== before && !this.#isClosed",
    replace: "obstacle !== before",
    campaign: "test/store/write-watch.mocked.test.ts",
  },
  ...hostileMutants,
  ...ioMutants,
  ...limitMutants,
  ...powerMutants,
  ...tokenMutants,
  ...upstreamMutants,
  {
    name: "a drain cuts HTTP/2 connections in the middle of their requests",
    file: "packages/gateway/src/server/port.ts",
    find: "for (const session of sessions) session.close();",
    replace: "for (const session of sessions) session.destroy();",
    campaign: "overload",
  },
  {
    name: "TLS: what comes while an answer waits is refused",
    file: "packages/gateway/src/server/port.ts",
    find: "if (tls !== undefined) parseWhatIsRead(socket);",
    replace: "",
    campaign: "packages/gateway/test/server/tls.test.ts",
  },
  {
    name: "whose last request is a second old is forgotten before the bucket is full",
    file: "packages/proxy/src/rate-limit/gate.ts",
    find: "this.#older = this.#recent;",
    replace: "this.#older = new Map();",
    campaign: "packages/proxy/test/rate-limit/rate-limiter.test.ts",
  },
  {
    name: "who has asked too often once is forgotten at once",
    file: "packages/proxy/src/rate-limit/gate.ts",
    find: "this.#recent.set(key, next);",
    replace: "",
    campaign: "packages/proxy/test/rate-limit/rate-limiter.test.ts",
  },
];
