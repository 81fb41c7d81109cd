/**
 * Checks a history against the create-once model: each id is a register that is empty, is written
 * once, and never changes. Pure: it uses only the records. All their times use the same clock
 * (`performance.now()`): Node counts from the start of the process, in all threads.
 */
import { textFields } from "../../../src/plant.ts";
import { type StoredPlant, storedForm } from "../../support/stored-plants.ts";

export interface TestPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** One request, from its first byte to the last byte of its answer, or to its loss. */
export interface RequestRecord {
  readonly client: string;
  readonly plant: TestPlant;
  readonly startMs: number;
  readonly endMs: number;
  /** The server's time limit, as given in the request. */
  readonly deadlineMs: number;
  readonly outcome: RequestOutcome;
}

export type RequestOutcome =
  /** A success, with the returned plant. */
  | { readonly kind: "stored"; readonly answer: Omit<TestPlant, "id"> }
  /** ALREADY_EXISTS. */
  | { readonly kind: "taken" }
  /** Stored or not; retrying is safe. `unanswered`: the client gave up long after its deadline. */
  | { readonly kind: "unknown"; readonly why: "deadline" | "unavailable" | "cut" | "unanswered" }
  /** INVALID_ARGUMENT: not stored. */
  | { readonly kind: "invalid" }
  /** What a plant store never returns for a valid request. */
  | { readonly kind: "failed"; readonly reason: string };

/** The whole store, as read by an operator. */
export interface StoreRead {
  readonly startMs: number;
  readonly endMs: number;
  readonly rows: readonly StoredPlant[];
}

/** What clients requested and received, and what the store was seen to contain. */
interface History {
  readonly requests: readonly RequestRecord[];
  /** In chronological order; the last one follows all requests. */
  readonly reads: readonly StoreRead[];
  /** How long the machine may have kept a request waiting between two times, in ms. Default: 0. */
  readonly starvedMs?: (fromMs: number, untilMs: number) => number;
}

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
  /** Ended after its deadline, the slack and the time that the machine took from it; or not at all. */
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
export function checkHistory({ requests, reads, starvedMs = () => 0 }: History): Violation[] {
  const byId = Map.groupBy(requests, ({ plant }) => plant.id);
  const indexed = reads.map(({ rows, ...read }) => ({
    ...read,
    rows: new Map(rows.map((row) => [row.id, row])),
  }));
  const ids = new Set([...byId.keys(), ...indexed.flatMap(({ rows }) => [...rows.keys()])]);
  return [...ids].flatMap((id) => {
    const asked = byId.get(id) ?? [];
    const stored = asked.filter(({ outcome }) => outcome.kind === "stored");
    const [winner] = stored;
    const last = indexed.at(-1)?.rows.get(id);
    return [
      ...asked.flatMap((request) => checkAnswer(request, starvedMs)),
      ...checkCreatedOnce(stored),
      ...checkReads(id, asked, indexed),
      ...checkTaken(asked, winner === undefined ? last : storedForm(winner.plant)),
    ];
  });
}

/** Violations visible in a single request. */
function checkAnswer(request: RequestRecord, starvedMs: NonNullable<History["starvedMs"]>) {
  const { plant, outcome, startMs, endMs, deadlineMs } = request;
  const tookMs = endMs - startMs;
  const lateMs = tookMs - deadlineMs - deadlineSlackMs;
  const violations: Violation[] = [];
  const add = (kind: ViolationKind, what: string) =>
    violations.push(violation(kind, request, what));
  if (outcome.kind === "unknown" && outcome.why === "unanswered") {
    add("late", `no answer after ${Math.round(tookMs)} ms`);
  } else if (lateMs > 0 && lateMs > starvedMs(startMs, endMs)) {
    add("late", `ended after ${Math.round(tookMs)} ms of ${deadlineMs} ms`);
  }
  if (outcome.kind === "stored" && !isSameRow({ id: plant.id, ...outcome.answer }, plant)) {
    add("wrong_answer", `was answered ${JSON.stringify(outcome.answer)}`);
  }
  if (outcome.kind === "invalid") add("refused", "was called invalid");
  if (outcome.kind === "failed") add("refused", `failed: ${outcome.reason}`);
  return violations;
}

function checkCreatedOnce([first, ...others]: readonly RequestRecord[]): Violation[] {
  const other = others.find(({ plant }) => first !== undefined && !isSameRow(plant, first.plant));
  if (first === undefined || other === undefined) return [];
  return [violation("created_twice", other, `was stored, and so was ${describe(first.plant)}`)];
}

type IndexedRead = Omit<StoreRead, "rows"> & { readonly rows: ReadonlyMap<bigint, StoredPlant> };

/**
 * Compares each read with what was acknowledged and seen before it, and requested before its end.
 * The first violation is enough.
 */
function checkReads(
  id: bigint,
  requests: readonly RequestRecord[],
  reads: readonly IndexedRead[],
): Violation[] {
  const broken = (kind: ViolationKind, what: string) => [{ kind, text: `plant ${id}: ${what}` }];
  let seen: StoredPlant | undefined;
  for (const read of reads) {
    const row = read.rows.get(id);
    const acknowledged = requests.find(
      ({ outcome, endMs }) => outcome.kind === "stored" && endMs <= read.startMs,
    );
    const expected = seen ?? (acknowledged && storedForm(acknowledged.plant));
    if (row === undefined) {
      if (expected === undefined) continue;
      const what = seen === undefined ? "acknowledged" : "seen in the store";
      return broken("lost", `${what}, then not there`);
    }
    if (expected !== undefined && !isSameRow(row, expected)) {
      return broken("changed", `is ${describeRow(row)}, and was ${describeRow(expected)}`);
    }
    const isAsked = requests.some(
      ({ plant, startMs, outcome }) =>
        startMs <= read.endMs && outcome.kind !== "invalid" && isSameRow(storedForm(plant), row),
    );
    if (!isAsked) return broken("unasked", `is ${describeRow(row)}, which nobody asked for`);
    seen = row;
  }
  return [];
}

/** @param owner The plant that owns the id, as far as known. */
function checkTaken(requests: readonly RequestRecord[], owner: StoredPlant | undefined) {
  const taken = requests.filter(({ outcome }) => outcome.kind === "taken");
  return taken.flatMap((request) => {
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

function isSameRow(one: StoredPlant | TestPlant, other: StoredPlant | TestPlant): boolean {
  return one.id === other.id && textFields.every((field) => one[field] === other[field]);
}

function violation(kind: ViolationKind, request: RequestRecord, what: string): Violation {
  const { client, plant, startMs } = request;
  return { kind, text: `${client} at ${Math.round(startMs)} ms: ${describe(plant)} ${what}` };
}

function describe(plant: TestPlant): string {
  return `plant ${plant.id} ${describeRow(storedForm(plant))}`;
}

/** Enough to identify it. */
function describeRow({ name, tag }: StoredPlant): string {
  const [shownName, shownTag] = [name, tag].map(
    (hex) => hex && Buffer.from(hex, "hex").toString("utf8"),
  );
  const text = JSON.stringify({ name: shownName, tag: shownTag });
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}
