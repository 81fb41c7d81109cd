/**
 * A gateway before upstreams that die, fall silent, leave and send what they should not, while calls of all
 * kinds go on. Each answer is compared with what the upstream was to answer.
 */

import dns from "node:dns/promises";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { openGrpcTransport } from "connect-gateway/client";
import { serve } from "connect-gateway/server";
import { proxyServices, readDescriptors } from "connect-gateway-proxy";
import type { Planned } from "../../../packages/gateway/test/support/model-upstream/answer.ts";
import {
  type Caller,
  modelDescriptors,
  type Outcome,
  openCallers,
} from "../../../packages/gateway/test/support/model-upstream/callers.ts";
import { type Campaign, count, notTried } from "../campaign.ts";
import { starvedMs } from "../history/starvation.ts";
import { createRandom, type Random } from "../random.ts";
import { judge, quietMsMax } from "./judge.ts";
import { ModelProcess } from "./model-process.ts";
import { type Fault, faults, planAnswer } from "./plan.ts";

const hosts = ["127.0.0.1", "127.0.0.2"] as const;
const name = "upstream.test";

/** At least as many, even with little time. */
const roundsMin = 5;
const callsUnderFault = 30;
const callsAfter = 10;
const recoveryMsMax = 15_000;
const foundMax = 20;
/** Far more than any call may take. */
const callMsMax = 20_000;

export const upstream: Campaign = {
  name: "upstream",
  async run({ seed, minutes, signal, log }) {
    if (process.platform !== "linux") {
      return notTried("other systems have no second loopback address");
    }
    const end = performance.now() + minutes * 60_000;
    await using arena = await openArena();
    const tried: Record<string, number> = {};
    const found: string[] = [];
    for (let round = 0; round < roundsMin || performance.now() < end; round++) {
      if (signal.aborted || found.length >= foundMax) break;
      const random = createRandom(seed, `round ${round}`);
      const fault = random.pick(faults);
      count(tried, fault);
      const begun = callAll(arena, { random, round: `${round}a`, calls: callsUnderFault });
      await delay(random.int(0, 100));
      await inject(arena, fault, random);
      const disturbed = await begun;
      const isBack = await untilWell(arena, `${round}p`);
      if (!isBack) found.push(`after ${fault}, in round ${round}: no call went well in time`);
      const calm = await callAll(arena, { random, round: `${round}b`, calls: callsAfter });
      for (const [calls, isDisturbed] of [
        [disturbed, true],
        [calm, false],
      ] as const) {
        for (const call of calls) {
          count(tried, "calls");
          const wrong = judge({ ...call, isDisturbed, isServed: arena.served.has(call.id) });
          if (wrong !== undefined)
            found.push(`${isDisturbed ? "amid" : "after"} ${fault}: ${wrong}`);
        }
      }
    }
    for (const id of arena.servedTwice) found.push(`${id} was served twice`);
    log(`${found.length} wrong or late`);
    return { tried, found };
  },
};

interface Arena extends AsyncDisposable {
  readonly models: readonly ModelProcess[];
  /** Those that the name has now. */
  readonly addresses: Set<string>;
  readonly callers: readonly Caller[];
  /** The ids of calls that a model has taken. */
  readonly served: ReadonlySet<string>;
  /** The ids of calls that went out again though they were served. */
  readonly servedTwice: ReadonlySet<string>;
}

async function openArena(): Promise<Arena> {
  const served = new Set<string>();
  const servedTwice = new Set<string>();
  const onServed = (id: string) => void (served.has(id) ? servedTwice : served).add(id);
  const [first, second] = hosts.map((host) => new ModelProcess(host, onServed));
  if (first === undefined || second === undefined) throw new Error("no models");
  const port = await first.start();
  await second.start(port);
  const addresses = new Set<string>(hosts);
  const unname = nameAddresses(addresses);
  const descriptors = readDescriptors(modelDescriptors);
  const transport = openGrpcTransport({ url: `http://${name}:${port}`, quietMsMax });
  const server = await serve({
    ...{ host: "127.0.0.1", port: 0 },
    routes: proxyServices({ ...descriptors, transport }),
    jsonOptions: { registry: descriptors.registry },
  });
  return {
    models: [first, second],
    ...{ addresses, served, servedTwice },
    callers: openCallers(`http://127.0.0.1:${server.address.port}`),
    async [Symbol.asyncDispose]() {
      await server.drain(0);
      transport.close();
      unname();
      await Promise.all([first.kill(), second.kill()]);
    },
  };
}

/** Gives a name to addresses, in this process alone. @returns takes it away. */
function nameAddresses(addresses: ReadonlySet<string>): () => void {
  const { lookup } = dns;
  const named = async (host: string, options: object) =>
    host === name
      ? [...addresses].map((address) => ({ address, family: 4 }))
      : await lookup(host, options);
  dns.lookup = named as typeof lookup;
  syncBuiltinESMExports();
  return () => {
    dns.lookup = lookup;
    syncBuiltinESMExports();
  };
}

/** Resolves when it is over, but for what the gateway has yet to notice. */
async function inject({ models, addresses }: Arena, fault: Fault, random: Random): Promise<void> {
  const model = random.pick(models);
  switch (fault) {
    case "stop":
      model.signal("SIGSTOP");
      await delay(random.int(10, 5 * quietMsMax));
      model.signal("SIGCONT");
      break;
    case "kill":
      await model.kill();
      await delay(random.int(0, 300));
      await model.start();
      break;
    case "leave":
      if (addresses.size > 1) addresses.delete(model.host);
      // The name is looked up again where calls fail.
      model.inject("cut");
      break;
    case "join":
      for (const host of hosts) addresses.add(host);
      break;
    default:
      for (const one of random.chance(0.5) ? models : [model]) one.inject(fault);
  }
}

interface Load {
  readonly random: Random;
  readonly round: string;
  readonly calls: number;
}

async function callAll({ callers }: Arena, { random, round, calls }: Load) {
  return await Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const planned = { id: `${round}-${index}`, plan: planAnswer(random) };
      const caller = random.pick(callers);
      const startMs = random.int(0, 150);
      const timeoutMs = random.chance(0.3) ? random.int(50, 3000) : undefined;
      await delay(startMs);
      return await callOnce(caller, planned, caller.name === "REST" ? undefined : timeoutMs);
    }),
  );
}

async function callOnce(caller: Caller, planned: Planned, timeoutMs: number | undefined) {
  const begin = performance.now();
  const outcome = await Promise.race([caller.call(planned, timeoutMs), givenUp()]);
  const end = performance.now();
  const call = { ...planned, caller, timeoutMs, outcome, elapsedMs: end - begin };
  return { ...call, starvedMs: starvedMs(begin, end) };
}

/** So that a call without an end is found, and does not keep the campaign from its own. */
async function givenUp(): Promise<Outcome> {
  await delay(callMsMax, undefined, { ref: false });
  return { code: -1, message: "it has no end", ids: [] };
}

/** Until calls find their upstream as often as there are addresses, in turn. */
async function untilWell({ callers }: Arena, round: string): Promise<boolean> {
  const [caller] = callers;
  if (caller === undefined) return false;
  const end = performance.now() + recoveryMsMax;
  for (let inTurn = 0, tries = 0; inTurn < 8; tries++) {
    if (performance.now() > end) return false;
    const planned = { id: `${round}-${tries}`, plan: { kind: "success", afterMs: 0 } } as const;
    const { code } = await caller.call(planned, 5 * quietMsMax);
    inTurn = code === 0 ? inTurn + 1 : 0;
  }
  return true;
}
