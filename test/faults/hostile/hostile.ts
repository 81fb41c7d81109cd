/**
 * A server with default settings, attacked with everything that strangers can send, while
 * well-behaved clients create plants. It must continue to work, stay within its limits and its
 * memory, report no client's error as its own, and store only what was requested.
 */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  createCertificate,
  hasOpenssl,
} from "../../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import type { ChildServer } from "../../support/child-server.ts";
import { sqliteKind } from "../../support/store-place.ts";
import {
  addCounts,
  type Campaign,
  type CampaignOptions,
  type CampaignResult,
} from "../campaign.ts";
import { isComplaint } from "../complaint.ts";
import type { TestPlant } from "../history/history.ts";
import { linesOf, Recorder } from "../history/recorder.ts";
import { createRandom } from "../random.ts";
import { startServer } from "../start-server.ts";
import type { Attack } from "./attack.ts";
import { attackAll, withoutSound } from "./attackers.ts";
import { createCorpus } from "./corpus/corpus.ts";
import { bombs } from "./floods/bombs.ts";
import { fourGiBClaims } from "./floods/claims.ts";
import { departures } from "./floods/departures.ts";
import type { Flood } from "./floods/flood.ts";
import { frameFloods } from "./floods/frames.ts";
import { hoarders, residentMiBMax, smallServer } from "./floods/hoards.ts";
import { beSlow, idleLimitMs, type SlowPorts } from "./slow-clients.ts";
import { describeSlowdown, type Span } from "./slowdown.ts";
import { type Usage, usageOf } from "./usage.ts";
import { Witness } from "./witness.ts";

/** Distinct attacks, in ten minutes. */
const attacksPerMinute = 2000;

/** After this many rounds, the heap has grown to what the floods need. */
const warmUpRounds = 3;

/** In each round of the warm-up: all of them together reach all code. */
const warmUpAttacks = 200;

/** Concurrent attacks of the corpus. */
const atOnce = 16;

/** A round is all floods once, and a part of the corpus. */
const roundMinutes = 1;

const residentIntervalMs = 100;

const restMs = 5000;
const baselineMs = 5000;

/** The allowed memory growth of a repetition: a leak of a KiB per request would exceed it. */
const growthMaxMiB = 64;

/** The allowed growth of open files in a repetition: well-behaved clients open a few again. */
const moreFilesMax = 8;

const floods: readonly Flood[] = [...frameFloods, fourGiBClaims, bombs, hoarders, departures];

export const hostile: Campaign = {
  name: "hostile",
  async run(options) {
    await using stack = new AsyncDisposableStack();
    const place = stack.use(await sqliteKind.open());
    const folder = stack.use(await createTemporaryFolder());
    const server = stack.use(await startServer(folder.path, ["--store", place.url], smallServer));
    const tls = hasOpenssl ? stack.use(await startTlsServer(folder.path)) : undefined;
    const recorder = new Recorder();
    const siege = new Siege({ ...options, server, tls, recorder });
    await siege.run();

    await recorder.read(async () => withoutSound(await place.read(), siege.sound));
    const found = [...siege.found, ...linesOf(recorder.check(), "the store")];
    found.push(...failuresOf(recorder), ...complaintsOf(server), ...complaintsOf(tls));
    const skipped = [
      ...(tls === undefined ? ["TLS: there is no openssl to make a certificate with"] : []),
      ...siege.skipped,
    ];
    const tried = { ...siege.tried, "requests of clients that behave": recorder.stored };
    return { tried, found, ...(skipped.length > 0 && { skipped: skipped.join("; ") }) };
  },
};

function startTlsServer(folder: string): Promise<ChildServer> {
  const { certFile, keyFile } = createCertificate(folder, "localhost");
  const files = ["--tls-cert", certFile, "--tls-key", keyFile];
  return startServer(folder, ["--store", `sqlite:${join(folder, "tls.db")}`, ...files]);
}

/** Strangers cause the only faults here, so any failure is due to them. */
function failuresOf({ counts }: Recorder): string[] {
  return ["cut", "unavailable", "deadline", "unanswered"].flatMap((why) =>
    counts[why] === undefined ? [] : [`${counts[why]} requests of clients that behave: ${why}`],
  );
}

function complaintsOf(server: ChildServer | undefined): string[] {
  if (server === undefined) return [];
  const { exitCode, signalCode } = server.process;
  const isGone = exitCode !== null || signalCode !== null;
  const errors = server.stderr.text.split("\n").filter(isComplaint);
  return [
    ...(isGone ? [`the server ended with ${exitCode ?? signalCode}`] : []),
    ...[...new Set(errors)].map((line) => `the server logged ${line}`),
  ];
}

interface SiegeOptions extends CampaignOptions {
  readonly server: ChildServer;
  readonly tls: ChildServer | undefined;
  readonly recorder: Recorder;
}

/** What is done to the server, in order, with the results. */
class Siege implements Pick<CampaignResult, "tried" | "found"> {
  readonly tried: Record<string, number> = {};
  readonly found: string[] = [];
  readonly skipped: string[] = [];
  /** Valid plants of the attackers, which may be stored. */
  readonly sound: TestPlant[] = [];
  readonly #options: SiegeOptions;
  readonly #corpus: Iterable<Attack>;
  readonly #ports: SlowPorts;
  /** In the next of many passes, the corpus continues. */
  readonly #answers: Record<string, number> = {};
  /** When each flood ran, since the warm-up. */
  readonly #floods: Span[] = [];

  constructor(options: SiegeOptions) {
    this.#options = options;
    this.#corpus = createCorpus(options.seed);
    this.#ports = { clear: options.server.port, tls: options.tls?.port };
  }

  async run(): Promise<void> {
    const { server, minutes, seed, recorder, log } = this.#options;
    const idle = this.#beIdle(minutes);
    await using witness = new Witness({ url: server.url, seed });
    for (let round = 0; round < warmUpRounds; round++) await this.#round(warmUpAttacks);
    this.#floods.length = 0;
    const before = await this.#rest();
    if (before !== undefined) {
      log(`after the warm-up: ${before.memoryMiB} MiB, ${before.files} files open`);
    }
    const rest = await spanOf("nobody else there", () => delay(baselineMs));

    const end = performance.now() + minutes * 60_000;
    const rounds = Math.max(1, Math.round(minutes / roundMinutes));
    const left = attacksPerMinute * minutes - warmUpRounds * warmUpAttacks;
    const perRound = Math.ceil(Math.max(0, left) / rounds);
    for (let round = 1; round <= rounds && !this.#isOver(end); round++) {
      const slow = beSlow("request", this.#ports);
      await this.#round(perRound);
      this.#add("slow clients", await slow);
      if (this.found.length > 0) break;
    }
    this.#add("clients that rest", await idle);
    this.#judgeUsage(before, await this.#rest());
    recorder.adopt(await witness.finish());
    // Only reported: attackers, the server and waiting clients share the same processors.
    for (const line of describeSlowdown(recorder.requests, { rest, floods: this.#floods }))
      log(line);
    log(`answers: ${JSON.stringify(this.#answers)}`);
  }

  #isOver(end: number): boolean {
    return this.#options.signal.aborted || performance.now() > end;
  }

  async #beIdle(minutes: number) {
    if (minutes * 60_000 < idleLimitMs) {
      const seconds = Math.round(idleLimitMs / 1000);
      this.skipped.push(`clients that rest: the limit is that of ${seconds} s`);
      return { count: 0, found: [] };
    }
    return await beSlow("idle", this.#ports);
  }

  async #round(attacks: number): Promise<void> {
    const { server, seed, signal } = this.#options;
    const target = {
      url: server.url,
      port: server.port,
      random: createRandom(seed, "floods"),
    };
    for (const flood of floods) {
      if (signal.aborted) return;
      await this.#watch(flood.name, async () => {
        this.#add(flood.name, await flood.run(target));
      });
    }
    await this.#watch("the corpus", () => this.#attack(attacks));
  }

  async #attack(count: number): Promise<void> {
    const { server, signal } = this.#options;
    const some = take(this.#corpus, count);
    const isOver = () => signal.aborted;
    const { url, port } = server;
    const report = await attackAll(some, { url, port, atOnce, isOver });
    this.#add("distinct requests", { count: report.tried, found: report.found });
    addCounts(this.#answers, report.answers);
    this.sound.push(...report.sound);
  }

  /**
   * Does the work and records its time, which is compared with the waiting of well-behaved clients
   * at the end.
   */
  async #watch(name: string, work: () => Promise<void>): Promise<void> {
    const { pid } = this.#options.server.process;
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, usageOf(pid)?.memoryMiB ?? 0);
    }, residentIntervalMs);
    this.#floods.push(await spanOf(name, work));
    clearInterval(watch);
    if (peak > residentMiBMax) this.found.push(`${name}: ${peak} MiB resident`);
  }

  /** Lets the server become idle, except for well-behaved clients. */
  async #rest(): Promise<Usage | undefined> {
    await delay(restMs);
    return usageOf(this.#options.server.process.pid);
  }

  #judgeUsage(before: Usage | undefined, after: Usage | undefined): void {
    if (before === undefined || after === undefined) {
      this.skipped.push("memory and open files: only Linux tells them");
      return;
    }
    const grownMiB = after.memoryMiB - before.memoryMiB;
    const moreFiles = after.files - before.files;
    const more = `${grownMiB} and ${moreFiles} more than after the warm-up`;
    this.#options.log(`at the end: ${after.memoryMiB} MiB, ${after.files} files open, ${more}`);
    if (grownMiB >= growthMaxMiB) this.found.push(`memory: ${after.memoryMiB} MiB, ${more}`);
    if (moreFiles >= moreFilesMax) this.found.push(`open files: ${after.files}, ${more}`);
  }

  #add(name: string, { count, found }: { count: number; found: readonly string[] }): void {
    addCounts(this.tried, { [name]: count });
    this.found.push(...found);
  }
}

function* take<T>(source: Iterable<T>, count: number): Generator<T> {
  const iterator = source[Symbol.iterator]();
  for (let taken = 0; taken < count; taken++) {
    const next = iterator.next();
    if (next.done) return;
    yield next.value;
  }
}

async function spanOf(name: string, work: () => Promise<void>): Promise<Span> {
  const startMs = performance.now();
  await work();
  return { name, startMs, endMs: performance.now() };
}
