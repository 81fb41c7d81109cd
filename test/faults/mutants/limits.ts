/** Limits that hold only for small numbers, and readiness that is only half true. */
import type { Mutant } from "./mutant.ts";

const watch = {
  file: "src/store/write-watch.ts",
  campaign: "test/store/write-watch.mocked.test.ts",
} as const;

const told = {
  file: "src/server/obstacles.ts",
  campaign: "test/server/health/obstacles.test.ts",
} as const;

const budget = {
  file: "packages/gateway/src/http/body-budget.ts",
  campaign: "packages/gateway/test/http/body-budget.test.ts",
} as const;

export const limitMutants: readonly Mutant[] = [
  {
    name: "rates of 5 a second and more are no limits",
    file: "packages/proxy/src/rate-limit/gate.ts",
    find: "if (waitSeconds === 0) return;",
    replace: "if (waitSeconds === 0 || perSecond >= 5) return;",
    campaign: "packages/proxy/test/rate-limit/gate.test.ts",
  },
  {
    name: "5 connections of one address and more are no limit",
    file: "packages/gateway/src/server/connection-limits.ts",
    find: "if (count >= max) return false;",
    replace: "if (count >= max && max < 5) return false;",
    campaign: "packages/gateway/test/server/address-limit.test.ts",
  },
  {
    name: "5 connections and more are no limit",
    file: "packages/gateway/src/server/connection-limits.ts",
    find: "this.#open.size >= this.#max &&",
    replace: "this.#open.size >= this.#max && this.#max < 5 &&",
    campaign: "packages/gateway/test/server/connection-limit.test.ts",
  },
  {
    name: "5 watches and more are no limit",
    file: "packages/gateway/src/rpc/own-services.ts",
    find: "if (open >= max) throw",
    replace: "if (open >= max && max < 5) throw",
    campaign: "packages/gateway/test/health/service.test.ts",
  },
  {
    ...budget,
    name: "a request counts after its body is whole",
    find: "this.give(this.#requestBytes);",
    replace: "",
  },
  {
    ...budget,
    name: "a body that was refused stays the oldest",
    find: "    this.refusals++;\n    this.rest(holding);",
    replace: "    this.refusals++;",
  },
  {
    name: "requests whose bodies do not come count for nothing",
    file: "packages/gateway/src/http/node-exchange.ts",
    find: "const room = this.holding?.begin();",
    replace: "const room = this.holding && undefined;",
    campaign: "packages/gateway/test/body-budget.test.ts",
  },
  {
    name: "requests whose bodies do not come count for nothing, by fetch",
    file: "packages/gateway/src/http/fetch-exchange.ts",
    find: "await this.holding.begin();",
    replace: "",
    campaign: "packages/gateway/test/body-budget.test.ts",
  },
  {
    name: "a connection whose bodies are refused has as many streams as ever",
    file: "packages/gateway/src/http/slow-down.ts",
    find: "session.settings({ maxConcurrentStreams: streamsMax });",
    replace: "",
    campaign: "packages/gateway/test/body-budget.test.ts",
  },
  {
    name: "a connection whose bodies are refused has more streams at once again",
    file: "packages/gateway/src/http/slow-down.ts",
    find: "    state.isRefused = true;",
    replace: "",
    campaign: "packages/gateway/test/body-budget.test.ts",
  },
  {
    name: "all refused requests are left in one turn",
    file: "packages/gateway/src/http/stream-exchange.ts",
    find: "Math.max(leftAtOnce, leaving.length >> 2)",
    replace: "Math.max(leftAtOnce, leaving.length)",
    campaign: "packages/gateway/test/http/leave-request.test.ts",
  },
  {
    name: "all connections begin as much in one turn as each may",
    file: "packages/gateway/src/server/turns.ts",
    find: "return this.#served < freeMax || !this.#all.isReached;",
    replace: "return this.#served < freeMax || this.#all !== undefined;",
    campaign: "packages/gateway/test/server/turns.test.ts",
  },
  {
    name: "a backup is not synced",
    file: "src/cli/output-file.ts",
    find: "fsyncSync(handle.fd);",
    replace: "",
    campaign: "test/cli/output-file.mocked.test.ts",
  },
  {
    ...watch,
    name: "readiness: one failed commit is enough",
    find: "if (isUnsafe(error)) this.#find(this.#engine.obstacleFrom(error), error);",
    replace: "this.#find(this.#engine.obstacleFrom(error), error);",
  },
  {
    ...watch,
    name: "readiness: commits that fail raise no doubt",
    find: "if (this.#failedProbes === 0) this.#check();",
    replace: "",
  },
  {
    ...watch,
    name: "readiness: a create that succeeds proves that others would",
    find: "if (this.#found !== undefined) this.#hasten(this.#times.backoffMinMs);",
    replace: "this.#find(undefined, undefined);",
  },
  {
    ...watch,
    name: "readiness: creates put the probe off",
    find: "performance.now() + ms < this.#dueAt",
    replace: "ms > 0",
  },
  {
    ...watch,
    name: "readiness: probes do not become rarer",
    find: "backoffMs(++this.#failedProbes, this.#times)",
    replace: "backoffMs(1, this.#times)",
  },
  {
    ...watch,
    name: "readiness: nothing is inspected until something fails",
    find: "cause === undefined ? times.inspectIntervalMs : times.backoffMinMs",
    replace: "cause === undefined ? 2 ** 30 : times.backoffMinMs",
  },
  {
    ...watch,
    name: "readiness: a database that forgets is still given plants",
    find: "return isUnsafe(this.#found?.cause) ? this.#found : undefined;",
    replace: "return undefined;",
  },
  {
    ...told,
    name: "readiness: the log says nothing of a full disk",
    find: 'if (obstacle === "closed" || obstacle === "failed") return;',
    replace:
      'if (obstacle === "closed" || obstacle === "failed" || obstacle === "disk_full") return;',
  },
  {
    ...told,
    name: "readiness: /readyz says why of a lock alone",
    find: 'const isReason = obstacle !== undefined && obstacle !== "closed";',
    replace: 'const isReason = obstacle === "locked";',
  },
  {
    name: "silent connections make no room",
    file: "packages/gateway/src/server/connection-limits.ts",
    find: "if (oldest === undefined) return false;",
    replace: "if (oldest !== undefined || this.#max > 0) return false;",
    campaign: "overload",
  },
];
