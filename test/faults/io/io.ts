/**
 * Disk errors. Each call that a store makes while it creates plants, checkpoints, closes and starts
 * fails in turn: with an error, a full disk, a partial write; once and permanently. Every
 * acknowledged create must be kept, both by the running system and after a power failure. After a
 * failed sync, nothing may be acknowledged, because a later sync proves nothing. The store must
 * recover from a full disk by itself.
 */
import { join } from "node:path";
import { type Campaign, createRun, type Run } from "../campaign.ts";
import type { Call } from "../disk/call-log.ts";
import { outageNames } from "../disk/crash-state.ts";
import { tryCrashes } from "../disk/crashes.ts";
import type { CreatingOptions } from "../disk/creating-child.ts";
import { openRecording, recordCalls } from "../disk/recording.ts";
import { type Place, withShim } from "../disk/shim.ts";
import { createRandom, type Random } from "../random.ts";
import { type FaultKind, faultKinds, judge } from "./faults.ts";
import { tryFailedSync } from "./service.ts";

/** More of the same adds no information. */
const foundMax = 20;
/** Power failures after each fault: at the end of the process, and at any moment from then on. */
const crashesPerFault = 4;

/**
 * What a store does while its calls fail. One operation at a time, so that each run makes the same
 * calls.
 */
type Workload = Pick<CreatingOptions, "sizes" | "openings"> & { readonly name: string };

const small: Workload = { name: "creates, a close and a start", sizes: "small", openings: [6, 10] };

/** Enough for a checkpoint, and for commits that overwrite the log it has copied. */
const large: Workload = { name: "a checkpoint under load", sizes: "large", openings: [142] };
/** Those of the small workload take a tenth of the time of the others. */
const smallPerLarge = 8;

export const io: Campaign = {
  name: "io",
  run: (run) =>
    withShim(run, async (place) => {
      await tryFailedSync(run, place);
      // With all of the time.
      await tryStores(createRun(run, run), place);
    }),
};

async function tryStores(run: Run, place: Place): Promise<void> {
  const random = createRandom(run.seed, "io");
  const rest = await plan(large, place, random);
  const planned = (await plan(small, place, random)).flatMap((fault, index) =>
    index % smallPerLarge === smallPerLarge - 1 ? [fault, ...rest.splice(0, 1)] : [fault],
  );
  planned.push(...rest);
  run.log(`${planned.length} faults are possible`);
  for (const fault of planned) {
    if (run.isOver() || run.found.length >= foundMax) break;
    await tryFault(run, fault, place, random);
  }
}

interface PlannedFault {
  readonly workload: Workload;
  readonly kind: FaultKind;
  /** The number of the call, and its kind in a run without faults. */
  readonly number: number;
  readonly target: Call;
}

/** Every fault of every call; rare calls first. */
async function plan(workload: Workload, place: Place, random: Random): Promise<PlannedFault[]> {
  const faults = (await recordCalls(place, workload)).flatMap((target, index) =>
    faultKinds
      // One byte cannot be written in part.
      .filter((kind) => kind.calls.includes(target.kind) && !(kind.short && target.result <= 1))
      .map((kind) => ({ workload, kind, number: index + 1, target })),
  );
  const alike = Map.groupBy(
    random.shuffle(faults),
    ({ target, kind }) => `${target.kind} ${target.path} ${kind.name}`,
  );
  return [...alike.values()]
    .flatMap((same) => same.map((fault, rank) => ({ fault, rank })))
    .sort((one, other) => one.rank - other.rank)
    .map(({ fault }) => fault);
}

async function tryFault(
  run: Run,
  { workload, kind, number, target }: PlannedFault,
  { folder, shimPath }: Place,
  random: Random,
): Promise<void> {
  const { name, sizes, openings } = workload;
  const triedBelow = openings.at(-1) ?? 0;
  const own = join(folder, "fault");
  await using recording = await openRecording(own, { shimPath, sizes });
  const fault = { ...kind, at: { call: number } };
  const switchPath = kind.passes ? join(own, "switch") : undefined;
  const report = await recording.run({ openings, concurrency: 1, fault, switchPath });
  const callsOfFault = await recording.calls();
  const wrong = report === undefined ? [] : judge(report, callsOfFault, kind);
  const after = await recording.run({ openings: [triedBelow], concurrency: 1 });
  if (after?.refused !== undefined) wrong.push(`the next start is refused: ${after.refused}`);
  else if (after?.failed !== 0) wrong.push("the next start cannot create");
  await recording.assertComplete();

  const calls = await recording.calls();
  const outages = Array.from({ length: crashesPerFault }, (_, index) => ({
    moment: index === 0 ? callsOfFault.length : random.int(number, calls.length),
    kind: random.pick(outageNames),
  }));
  const options = { random, outages, triedBelow, folder: own };
  for await (const crash of tryCrashes(recording, calls, options)) {
    run.count("losses of power");
    wrong.push(...crash.wrong);
  }
  const what = `${target.kind} of ${target.path.replace(/.*plants\.db/, "…")}`;
  run.find(`${name}: ${kind.name} at call ${number}, ${what}`, wrong);
  for (const tried of ["faults", kind.name, `a ${target.kind} fails`]) run.count(tried);
}
