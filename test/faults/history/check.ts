/**
 * Checks a history against the create-once model: each id is a register that is empty, is written
 * once, and never changes. Pure: it uses only the records.
 */
import { type StoredPlant, storedForm } from "../../support/stored-plants.ts";
import type { History, RequestRecord, StoreRead, TestPlant } from "./history.ts";

export type ViolationKind =
  /** Two different plants with the same id were both acknowledged. */
  | "created_twice"
  /** Acknowledged or seen before, and missing later. */
  | "lost"
  /** Stored as a different plant than the one that was acknowledged or seen. */
  | "changed"
  /** ALREADY_EXISTS for the plant that owns the id. */
  | "taken_from_owner"
  /** ALREADY_EXISTS although no other plant can have had the id by then. */
  | "taken_by_nobody"
  /** Stored, but never requested. */
  | "unasked"
  /** A success that returns a different plant. */
  | "wrong_answer"
  /**
   * Ended after its deadline, the slack and the time that the machine kept it waiting; or not at
   * all.
   */
  | "late"
  /** A valid request was rejected, or failed for a reason that clients must not encounter. */
  | "refused";

export interface Violation {
  readonly kind: ViolationKind;
  readonly text: string;
}

/** Between the deadline and the answer: for the way back and the recording. */
export const deadlineSlackMs = 3000;

/** @returns All violations by id; empty for a history that the model allows. */
export function checkHistory(history: History): Violation[] {
  const byId = Map.groupBy(history.requests, ({ plant }) => plant.id);
  const reads = history.reads.map(({ rows, ...read }) => ({
    ...read,
    rows: new Map(rows.map((row) => [row.id, row])),
  }));
  const ids = new Set(byId.keys());
  for (const { rows } of reads) for (const id of rows.keys()) ids.add(id);
  return [...ids].flatMap((id) => checkId(id, byId.get(id) ?? [], reads, history));
}

interface IndexedRead extends Omit<StoreRead, "rows"> {
  readonly rows: ReadonlyMap<bigint, StoredPlant>;
}

function checkId(
  id: bigint,
  requests: readonly RequestRecord[],
  reads: readonly IndexedRead[],
  { starvedMs = () => 0 }: Pick<History, "starvedMs">,
): Violation[] {
  const stored = requests.filter(({ outcome }) => outcome.kind === "stored");
  const last = reads.at(-1)?.rows.get(id);
  const winner = stored[0]?.plant;
  const owner = winner === undefined ? last : storedForm(winner);
  return [
    ...requests.flatMap((request) => checkAnswer(request, starvedMs)),
    ...checkCreatedOnce(stored),
    ...checkReads(id, requests, reads),
    ...checkTaken(requests, owner),
  ];
}

/** Violations visible in a single request. */
function checkAnswer(
  request: RequestRecord,
  starvedMs: NonNullable<History["starvedMs"]>,
): Violation[] {
  const { plant, outcome, startMs, endMs, deadlineMs } = request;
  const violations: Violation[] = [];
  const tookMs = endMs - startMs;
  const isUnanswered = outcome.kind === "unknown" && outcome.why === "unanswered";
  const lateMs = tookMs - deadlineMs - deadlineSlackMs;
  if (isUnanswered) {
    violations.push(violation("late", request, `no answer after ${Math.round(tookMs)} ms`));
  } else if (lateMs > 0 && lateMs > starvedMs(startMs, endMs)) {
    violations.push(
      violation("late", request, `ended after ${Math.round(tookMs)} ms of ${deadlineMs} ms`),
    );
  }
  if (outcome.kind === "stored" && !isSame({ id: plant.id, ...outcome.answer }, plant)) {
    const answer = JSON.stringify(outcome.answer);
    violations.push(violation("wrong_answer", request, `was answered ${answer}`));
  }
  if (outcome.kind === "invalid")
    violations.push(violation("refused", request, "was called invalid"));
  if (outcome.kind === "failed") {
    violations.push(violation("refused", request, `failed: ${outcome.reason}`));
  }
  return violations;
}

function checkCreatedOnce([first, ...others]: readonly RequestRecord[]): Violation[] {
  if (first === undefined) return [];
  const other = others.find(({ plant }) => !isSame(plant, first.plant));
  if (other === undefined) return [];
  return [violation("created_twice", other, `was stored, and so was ${describe(first.plant)}`)];
}

/**
 * Compares each read with what was acknowledged and seen before it, and requested before its end.
 */
function checkReads(
  id: bigint,
  requests: readonly RequestRecord[],
  reads: readonly IndexedRead[],
): Violation[] {
  const violations: Violation[] = [];
  const add = (kind: ViolationKind, text: string) =>
    violations.push({ kind, text: `plant ${id}: ${text}` });
  let seen: StoredPlant | undefined;
  for (const read of reads) {
    const row = read.rows.get(id);
    const acknowledged = requests.find(
      ({ outcome, endMs }) => outcome.kind === "stored" && endMs <= read.startMs,
    );
    const expected = seen ?? (acknowledged && storedForm(acknowledged.plant));
    if (row === undefined) {
      if (expected === undefined) continue;
      add("lost", `${seen === undefined ? "acknowledged" : "seen in the store"}, then not there`);
      break;
    }
    if (expected !== undefined && !isSameRow(row, expected)) {
      add("changed", `is ${describeRow(row)}, and was ${describeRow(expected)}`);
      break;
    }
    const isAsked = requests.some(
      ({ plant, startMs, outcome }) =>
        startMs <= read.endMs && outcome.kind !== "invalid" && isSameRow(storedForm(plant), row),
    );
    if (!isAsked) {
      add("unasked", `is ${describeRow(row)}, which nobody asked for`);
      break;
    }
    seen = row;
  }
  return violations;
}

/** @param owner The plant that owns the id, as far as known. */
function checkTaken(
  requests: readonly RequestRecord[],
  owner: StoredPlant | undefined,
): Violation[] {
  return requests
    .filter(({ outcome }) => outcome.kind === "taken")
    .flatMap((request) => {
      if (owner !== undefined && isSameRow(owner, storedForm(request.plant))) {
        return [violation("taken_from_owner", request, "was told that another plant has its id")];
      }
      const isPossible = requests.some(
        ({ plant, startMs }) =>
          owner !== undefined && isSameRow(storedForm(plant), owner) && startMs <= request.endMs,
      );
      if (isPossible) return [];
      return [violation("taken_by_nobody", request, "was told so before any other had the id")];
    });
}

function isSame(one: TestPlant, other: TestPlant): boolean {
  return one.id === other.id && one.name === other.name && one.tag === other.tag;
}

function isSameRow(one: StoredPlant, other: StoredPlant): boolean {
  return one.id === other.id && one.name === other.name && one.tag === other.tag;
}

function violation(kind: ViolationKind, request: RequestRecord, what: string): Violation {
  const { client, plant, startMs } = request;
  return { kind, text: `${client} at ${Math.round(startMs)} ms: ${describe(plant)} ${what}` };
}

function describe({ id, name, tag }: TestPlant): string {
  return `plant ${id} ${cut(JSON.stringify({ name, tag }))}`;
}

function describeRow({ name, tag }: StoredPlant): string {
  return cut(JSON.stringify({ name: fromHex(name), tag: tag === null ? null : fromHex(tag) }));
}

function fromHex(text: string): string {
  return Buffer.from(text, "hex").toString("utf8");
}

/** Enough to identify it. */
function cut(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
