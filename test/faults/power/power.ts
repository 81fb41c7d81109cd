/**
 * Power failures. Killing a store proves nothing about its syncs, because the system still has what
 * it wrote. This records each write, sync and new name of a store that creates plants, together
 * with the acknowledgements. From these, it reconstructs the states that a disk may be in if the
 * power fails between any two of them (disk.ts). In each state, the store must start with every
 * plant acknowledged before, byte for byte, and work.
 */
import { join } from "node:path";
import {
  createTemporaryFolder,
  memoryFolder,
} from "../../../packages/gateway/test/support/temporary-folder.ts";
import {
  type Campaign,
  type CampaignOptions,
  type CampaignResult,
  count,
  notTried,
} from "../campaign.ts";
import type { Call } from "../disk/call-log.ts";
import { type OutageName, outageNames } from "../disk/crash-state.ts";
import { type Crash, describeCrash, type Outage, tryCrashes } from "../disk/crashes.ts";
import { Recording } from "../disk/recording.ts";
import { compileShim } from "../disk/shim.ts";
import { createRandom, type Random } from "../random.ts";
import { type Session, sessions } from "./sessions.ts";

export const power: Campaign = { name: "power", run };

/** More of the same adds no information. */
const foundMax = 20;

async function run(options: CampaignOptions): Promise<CampaignResult> {
  await using workplace = await createTemporaryFolder(memoryFolder);
  const shim = await compileShim(workplace.path);
  if ("skipped" in shim) return notTried(shim.skipped);
  const { seed, minutes, log, signal } = options;
  const random = createRandom(seed, "power");
  const endsAt = performance.now() + minutes * 60_000;
  const tried: Record<string, number> = {};
  const found: string[] = [];
  const shouldStop = () =>
    signal.aborted || performance.now() >= endsAt || found.length >= foundMax;
  let earlier: Crash | undefined;
  for (let round = 0; !shouldStop(); round++) {
    const session = sessions[round % sessions.length] as Session;
    const folder = join(workplace.path, String(round));
    const from = session.startsFrom === "crash" ? earlier : undefined;
    earlier = undefined;
    const before = from?.left;
    const { sizes, triedBelow } = session;
    const recording = await Recording.begin(folder, { shimPath: shim.path, sizes, before });
    await session.record(recording, random);
    await recording.assertComplete();
    const calls = await recording.calls();
    const crashes = tryCrashes(recording, calls, {
      random,
      outages: planOutages(calls, session.crashes, random),
      acknowledged: from?.acknowledged ?? new Set(),
      triedBelow,
      folder,
      shouldStop,
    });
    for await (const crash of crashes) {
      count(tried, `in ${session.name}`, crash.kind);
      if (crash.wrong === undefined) earlier = random.chance(0.3) ? crash : (earlier ?? crash);
      else found.push(`${session.name}, round ${round}: ${describeCrash(crash, calls)}`);
    }
    log(`round ${round}: ${session.name}, ${calls.length} calls`);
    await recording.remove();
  }
  return { tried, found };
}

/**
 * The same number of each kind. Half of the moments are next to a call that is not a write. There
 * are few of these, and they determine what must be there.
 */
function planOutages(calls: readonly Call[], crashes: number, random: Random): readonly Outage[] {
  const turns = calls.flatMap(({ kind }, index) => (kind === "write" ? [] : [index, index + 1]));
  return Array.from({ length: crashes }, (_, index) => ({
    moment: random.chance(0.5) ? random.pick(turns) : random.int(0, calls.length),
    kind: outageNames[index % outageNames.length] as OutageName,
  }));
}
