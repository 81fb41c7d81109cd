/**
 * Disk errors. Each call that a store makes while it creates plants, checkpoints, closes and starts
 * fails in turn: with an error, a full disk, a partial write; once and permanently. Every
 * acknowledged create must be kept, both by the running system and after a power failure. After a
 * failed sync, nothing may be acknowledged, because a later sync proves nothing. The store must
 * recover from a full disk by itself.
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
import { type Call, isNumbered } from "../disk/call-log.ts";
import { type OutageName, outageNames } from "../disk/crash-state.ts";
import { describeCrash, tryCrashes } from "../disk/crashes.ts";
import { Recording } from "../disk/recording.ts";
import { compileShim } from "../disk/shim.ts";
import { createRandom, type Random } from "../random.ts";
import { type FaultKind, faultKinds } from "./fault-kinds.ts";
import { judge } from "./judge.ts";
import { tryService } from "./service.ts";
import { type Workload, workloads } from "./workloads.ts";

/** More of the same adds no information. */
const foundMax = 20;

/** Power failures after each fault: at the end of the process, and at any moment from then on. */
const crashesPerFault = 4;

export const io: Campaign = {
  name: "io",
  async run(options) {
    await using workplace = await createTemporaryFolder(memoryFolder);
    const shim = await compileShim(workplace.path);
    if ("skipped" in shim) return notTried(shim.skipped);
    const place: Place = { folder: workplace.path, shimPath: shim.path };
    const service = await tryService(place);
    const stores = await tryStores(options, place);
    return {
      tried: { ...service.tried, ...stores.tried },
      found: [...service.found, ...stores.found],
    };
  },
};

export interface Place {
  readonly folder: string;
  readonly shimPath: string;
}

interface PlannedFault {
  readonly workload: Workload;
  readonly kind: FaultKind;
  /** The number of the call, and its kind in a run without faults. */
  readonly number: number;
  readonly target: Call;
}

async function tryStores(
  { seed, minutes, log, signal }: CampaignOptions,
  place: Place,
): Promise<CampaignResult> {
  const random = createRandom(seed, "io");
  const endsAt = performance.now() + minutes * 60_000;
  const tried: Record<string, number> = {};
  const found: string[] = [];
  const shouldStop = () =>
    signal.aborted || performance.now() >= endsAt || found.length >= foundMax;
  const plans = await Promise.all(workloads.map((workload) => plan(workload, place, random)));
  const planned = interleave(plans);
  log(`${planned.length} faults are possible`);
  for (const fault of planned) {
    if (shouldStop()) break;
    const { kind, target, workload } = fault;
    const what = `${target.kind} of ${target.path.replace(/.*plants\.db/, "…")}`;
    found.push(
      ...(await tryFault(fault, place, random, () => count(tried, "losses of power"))).map(
        (wrong) => `${workload.name}: ${kind.name} at call ${fault.number}, ${what}: ${wrong}`,
      ),
    );
    count(tried, "faults", kind.name, `a ${target.kind} fails`);
  }
  return { tried, found };
}

/** Every fault of every call; rare calls first. */
async function plan(
  workload: Workload,
  { folder, shimPath }: Place,
  random: Random,
): Promise<readonly PlannedFault[]> {
  const own = join(folder, `plan ${workload.name}`);
  const recording = await Recording.begin(own, { shimPath, sizes: workload.sizes });
  await recording.run({ openings: workload.openings, concurrency: 1 });
  const calls = (await recording.calls()).filter((call) => isNumbered(call, recording.root));
  await recording.remove();
  const faults = calls.flatMap((target, index) =>
    faultKinds
      // One byte cannot be written in part.
      .filter((kind) => kind.calls.includes(target.kind) && !(kind.short && target.result <= 1))
      .map((kind) => ({ workload, kind, number: index + 1, target })),
  );
  const ofSameKind = new Map<string, number>();
  return random
    .shuffle(faults)
    .map((fault) => {
      const same = `${fault.target.kind} ${fault.target.path} ${fault.kind.name}`;
      const rank = (ofSameKind.get(same) ?? 0) + 1;
      ofSameKind.set(same, rank);
      return { fault, rank };
    })
    .sort((one, other) => one.rank - other.rank)
    .map(({ fault }) => fault);
}

/** @returns What is wrong, a line each. */
async function tryFault(
  { workload, kind, number }: PlannedFault,
  { folder, shimPath }: Place,
  random: Random,
  onCrash: () => void,
): Promise<readonly string[]> {
  const { sizes, openings, triedBelow } = workload;
  const own = join(folder, "fault");
  const recording = await Recording.begin(own, { shimPath, sizes });
  try {
    const report = await recording.run({
      openings,
      concurrency: 1,
      fault: { ...kind, at: { call: number } },
      ...(kind.passes && { switchPath: join(own, "switch") }),
    });
    const callsOfFault = await recording.calls();
    const found: string[] = [];
    const wrong = report && judge(report, callsOfFault, kind);
    if (wrong !== undefined) found.push(wrong);
    const after = await recording.run({ openings: [[0, triedBelow]], concurrency: 1 });
    if (after?.refused !== undefined) found.push(`the next start is refused: ${after.refused}`);
    else if (after?.failed !== 0) found.push("the next start cannot create");
    await recording.assertComplete();

    const calls = await recording.calls();
    const crashes = tryCrashes(recording, calls, {
      random,
      outages: Array.from({ length: crashesPerFault }, (_, index) => ({
        moment: index === 0 ? callsOfFault.length : random.int(number, calls.length),
        kind: random.pick(outageNames) satisfies OutageName,
      })),
      acknowledged: new Set(),
      triedBelow,
      folder: own,
      shouldStop: () => false,
    });
    for await (const crash of crashes) {
      onCrash();
      if (crash.wrong !== undefined) found.push(describeCrash(crash, calls));
    }
    return found;
  } finally {
    await recording.remove();
  }
}

/** Those of the first workload take a tenth of the time of the others. */
function interleave<T>([first = [], ...others]: readonly (readonly T[])[]): T[] {
  const rest = others.flat();
  return [
    ...first.flatMap((fault, index) =>
      index % 8 === 7 ? [fault, ...rest.slice((index - 7) / 8, (index + 1) / 8)] : [fault],
    ),
    ...rest.slice(Math.floor(first.length / 8)),
  ];
}
