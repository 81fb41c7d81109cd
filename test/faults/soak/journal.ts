/** The requests of a soak, in a file: an answer in one piece must still be true in the next. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import type { RequestRecord } from "../history/check.ts";

/** Synchronously, because a piece may be killed. */
export function appendRequest(path: string, { plant, outcome }: RequestRecord): void {
  const line = { plant: { ...plant, id: String(plant.id) }, outcome };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}

/** As requests that ended before this piece began. */
export function readRequests(path: string): readonly RequestRecord[] {
  const past = { client: "a client of an earlier piece", startMs: 0, endMs: 0, deadlineMs: 0 };
  return readLines<RequestRecord>(path).map(({ plant, outcome }) => ({
    ...{ ...past, outcome },
    plant: { ...plant, id: BigInt(plant.id) },
  }));
}

/** The objects of a JSON lines file; empty if there is no file. The last line may be incomplete. */
export function readLines<T>(path: string): readonly T[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as T);
}
