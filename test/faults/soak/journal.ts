/** The requests of a soak, in a file: an answer in one piece must still be true in the next. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { RequestOutcome, RequestRecord, TestPlant } from "../history/check.ts";

interface Line {
  readonly plant: Omit<TestPlant, "id"> & { readonly id: string };
  readonly outcome: RequestOutcome;
}

/** Synchronously, because a piece may be killed. */
export function appendRequest(path: string, { plant, outcome }: RequestRecord): void {
  const line: Line = { plant: { ...plant, id: String(plant.id) }, outcome };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

/** As requests that ended before this piece began. */
export function readRequests(path: string): readonly RequestRecord[] {
  return readLines<Line>(path).map(({ plant, outcome }) => ({
    client: "a client of an earlier piece",
    plant: { ...plant, id: BigInt(plant.id) },
    startMs: 0,
    endMs: 0,
    deadlineMs: 0,
    outcome,
  }));
}

/** The objects of a JSON lines file; empty if there is no file. The last line may be incomplete. */
export function readLines<T>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as T);
}
