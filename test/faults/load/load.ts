import { EventEmitter, once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { TestPlant } from "../history/check.ts";
import { Recorder } from "../history/recorder.ts";
import { createRandom } from "../random.ts";
import type { Caller } from "./caller.ts";
import { ownIds, randomPlant } from "./plants.ts";

export type Clients = ReturnType<typeof createClients>;
type Client = Clients["list"][number];

interface ClientsOptions {
  readonly count: number;
  readonly seed: number;
  /** Shortest and longest deadline of a request. */
  readonly deadlinesMs: readonly [number, number];
  /** The number of the first client, which determines the ids of its plants. Default: 0. */
  readonly first?: number;
  readonly recorder?: Recorder;
}

/** Enough old plants to request again. */
const rememberedMax = 50;

/**
 * Clients that store their own plants and retry until they know the outcome of each. Sometimes they
 * repeat an old one, or request another plant with one of their own ids.
 */
export function createClients(options: ClientsOptions) {
  const { count, seed, deadlinesMs, first = 0, recorder = new Recorder() } = options;
  const list = Array.from({ length: count }, (_, index) => {
    const client = `client ${first + index}`;
    const random = createRandom(seed, client);
    const takeId = ownIds(first + index);
    const remembered: TestPlant[] = [];
    let pending: TestPlant | undefined;

    function choose(): TestPlant {
      if (remembered.length === 0 || random.chance(0.8)) return randomPlant(takeId(), random);
      const old = random.pick(remembered);
      return random.chance(0.5) ? old : { ...old, name: `${old.name}!` };
    }

    return {
      /** Whether the outcome of a plant is still unknown. */
      isPending: () => pending !== undefined,
      /** One request, over any of the callers. @returns whether a plant is known to be stored. */
      async step(callers: readonly Caller[]): Promise<boolean> {
        const plant = pending ?? choose();
        const deadlineMs = random.int(...deadlinesMs);
        const caller = random.pick(callers);
        const { kind } = await recorder.request({ client, plant, deadlineMs }, () =>
          caller.create(plant, deadlineMs),
        );
        pending = kind === "unknown" ? plant : undefined;
        if (kind === "stored") remembered.push(plant);
        if (remembered.length > rememberedMax) remembered.shift();
        return kind === "stored";
      },
    };
  });
  return { recorder, list };
}

/** An undisturbed service must recover within this time. */
const recoveryMs = 60_000;

export type Load = ReturnType<typeof openLoad>;

/**
 * Clients that run until they are stopped, each with one request at a time.
 *
 * @param pauseMs Of each client, between two requests.
 */
export function openLoad({ recorder, list }: Clients, callers: readonly Caller[], pauseMs = 0) {
  const progress = new EventEmitter().setMaxListeners(0);
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = 0;
  let rest: Promise<unknown> | undefined;

  async function use(client: Client): Promise<void> {
    while (!signal.aborted) {
      await rest;
      running++;
      const isStored = await client.step(callers);
      running--;
      progress.emit("answered");
      if (isStored) progress.emit("stored");
      if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
  }

  const ended = Promise.all(list.map(use));
  ended.catch(() => {});

  /** Each client ends after its current request. */
  function stop(): Promise<unknown> {
    stopping.abort();
    return ended;
  }

  return {
    stop,
    /** Waits for this many more successes. @throws If the service does not recover. */
    async untilStored(count: number): Promise<void> {
      const wanted = recorder.stored + count;
      const signal = AbortSignal.timeout(recoveryMs);
      try {
        while (recorder.stored < wanted) await once(progress, "stored", { signal });
      } catch (cause) {
        throw new Error(`no plant was stored within ${recoveryMs} ms after a fault`, { cause });
      }
    },
    /** Works while no request is under way. */
    async restDuring(work: () => Promise<unknown>): Promise<void> {
      const over = Promise.withResolvers<void>();
      rest = over.promise;
      try {
        while (running > 0) await once(progress, "answered");
        await work();
      } finally {
        rest = undefined;
        over.resolve();
      }
    },
    /** Ends the load, and retries all requests with an unknown outcome. */
    async settle(): Promise<void> {
      await stop();
      for (const client of list) {
        for (let tries = 0; client.isPending() && tries < 20; tries++) await client.step(callers);
        if (client.isPending()) throw new Error("no answer from a service that nobody disturbs");
      }
    },
    async [Symbol.asyncDispose]() {
      await Promise.allSettled([stop()]);
    },
  };
}
