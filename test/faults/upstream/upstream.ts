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
import {
  type Caller,
  modelDescriptors,
  openCallers,
} from "../../../packages/gateway/test/support/model-upstream/callers.ts";
import { connectionFaults } from "../../../packages/gateway/test/support/model-upstream/fault.ts";
import type { Campaign } from "../campaign.ts";
import { createRandom, type Random } from "../random.ts";
import { callAll, judge, quietMsMax } from "./calls.ts";
import { createModel } from "./model-process.ts";

/** With those to its process and to the addresses of its name. */
const faults = [...connectionFaults, "stop", "kill", "leave", "join"] as const;
const hosts = ["127.0.0.1", "127.0.0.2"] as const;
const name = "upstream.test";
/** At least as many, even with little time. */
const roundsMin = 5;
const callsUnderFault = 30;
const callsAfter = 10;
const recoveryMsMax = 15_000;
const foundMax = 20;

export const upstream: Campaign = {
  name: "upstream",
  async run(run) {
    if (process.platform !== "linux")
      return run.skip("other systems have no second loopback address");
    await using arena = await openArena();
    const { callers, served, servedTwice } = arena;
    for (let round = 0; round < roundsMin || !run.isOver(); round++) {
      if (run.signal.aborted || run.found.length >= foundMax) break;
      const random = createRandom(run.seed, `round ${round}`);
      const fault = random.pick(faults);
      run.count(fault);
      const begun = callAll(callers, { random, name: `${round}a`, count: callsUnderFault });
      await delay(random.int(0, 100));
      await inject(arena, fault, random);
      const disturbed = await begun;
      const isBack = await untilWell(arena, `${round}p`);
      if (!isBack) run.find(`after ${fault}, in round ${round}`, ["no call went well in time"]);
      const calm = await callAll(callers, { random, name: `${round}b`, count: callsAfter });
      for (const call of [...disturbed, ...calm]) {
        const isDisturbed = disturbed.includes(call);
        const wrong = judge(call, isDisturbed, served.has(call.id));
        run.count("calls");
        run.find(`${isDisturbed ? "amid" : "after"} ${fault}`, wrong === undefined ? [] : [wrong]);
      }
    }
    for (const id of servedTwice) run.found.push(`${id} was served twice`);
    run.log(`${run.found.length} wrong or late`);
  },
};

type Arena = Awaited<ReturnType<typeof openArena>>;

async function openArena() {
  /** The ids of calls that a model has taken. */
  const served = new Set<string>();
  /** The ids of calls that went out again though they were served. */
  const servedTwice = new Set<string>();
  const onServed = (id: string) => void (served.has(id) ? servedTwice : served).add(id);
  const models = hosts.map((host) => createModel(host, onServed));
  let port = 0;
  for (const model of models) port = await model.start(port);
  /** Those that the name has now. */
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
    ...{ models, addresses, served, servedTwice },
    callers: openCallers(`http://127.0.0.1:${server.address.port}`),
    async [Symbol.asyncDispose]() {
      await server.drain(0);
      transport.close();
      unname();
      await Promise.all(models.map((model) => model.kill()));
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
async function inject(
  { models, addresses }: Arena,
  fault: (typeof faults)[number],
  random: Random,
): Promise<void> {
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

/** Until calls find their upstream as often as there are addresses, in turn. */
async function untilWell({ callers }: Arena, round: string): Promise<boolean> {
  const caller = callers[0] as Caller;
  const end = performance.now() + recoveryMsMax;
  for (let inTurn = 0, tries = 0; inTurn < 8; tries++) {
    if (performance.now() > end) return false;
    const planned = { id: `${round}-${tries}`, plan: { kind: "success", afterMs: 0 } } as const;
    const { code } = await caller.call(planned, 5 * quietMsMax);
    inTurn = code === 0 ? inTurn + 1 : 0;
  }
  return true;
}
