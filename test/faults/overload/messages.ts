/** Messages that are no plants, of any shape and size, beside small ones: to a service, and through a proxy. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import type { ChildServer } from "../../support/child-server.ts";
import type { Run } from "../campaign.ts";
import { patienceMs, smallHeap, startProgram, startProxy, watchMemory } from "../server.ts";
import type { SenderSetup } from "./messages-thread.ts";

const pauseMs = 20;

/** Its memory, its life, and whether others are served. */
async function attack(run: Run, name: string, target: ChildServer, ms: number): Promise<void> {
  using memory = watchMemory(target);
  const setup: SenderSetup = { url: target.url, seed: run.seed };
  const thread = new Worker(new URL("messages-thread.ts", import.meta.url), { workerData: setup });
  const told = once(thread, "message");
  const signal = AbortSignal.any([run.signal, AbortSignal.timeout(ms)]);
  while (!signal.aborted) {
    const { status } = await fetch(`${target.url}/v1/fields`, {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body: '{"int64":"1"}' },
      signal: AbortSignal.timeout(patienceMs),
    }).catch((error: unknown) => ({ status: `${error}` }));
    if (status !== 200) run.find(`messages, ${name}`, [`a small call heard ${status}`]);
    await delay(pauseMs);
  }
  thread.postMessage("stop");
  const [sent] = await told;
  await thread.terminate();
  run.count("messages that are no plants", sent);
  run.log(`messages, ${name}: ${sent} sent, ${memory.peakMiB} MiB resident`);
  run.find(`messages, ${name}`, memory.problems);
}

export async function messages(run: Run): Promise<void> {
  if (process.platform !== "linux")
    return run.skip("other systems have no second loopback address");
  await using folder = await createTemporaryFolder();
  const options = { cwd: folder.path, env: smallHeap };
  const service = "packages/gateway/test/support/fields-process.ts";
  await using alone = await startProgram(service, [], options);
  await using proxy = await startProxy(alone.url, options);
  const ms = Math.max(4000, (run.minutes * 60_000) / 2);
  await attack(run, "a service", alone, ms);
  if (!run.signal.aborted) await attack(run, "the command", proxy, ms);
}
