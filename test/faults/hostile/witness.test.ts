/** The results and errors of clients on a separate thread reach the campaign. */
import { expect, test } from "vitest";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { openTestServer } from "../../support/test-server.ts";
import { createRun } from "../campaign.ts";
import { Recorder } from "../history/recorder.ts";
import { openWitness } from "./witness.ts";
import type { WitnessSetup } from "./witness-thread.ts";

test("requests have the times of this thread's clock, and are counted", async () => {
  await using server = await openTestServer();
  const recorder = new Recorder();
  const startMs = performance.now();
  await using witness = openWitness({ url: server.url, seed: 1 });
  recorder.adopt(await witness.finish());
  const endMs = performance.now();

  expect(recorder.stored).toBeGreaterThan(0);
  expect(recorder.requests.filter((request) => request.startMs < startMs)).toEqual([]);
  expect(recorder.requests.filter((request) => request.endMs > endMs)).toEqual([]);
  const run = createRun({ seed: 1, minutes: 0, log: () => {}, signal: AbortSignal.timeout(1) });
  await recorder.judge(run, "it", { read: async () => readStoredPlants(server.database) });
  expect(run.found).toEqual([]);
});

test("what the thread throws is rethrown", async () => {
  await using witness = openWitness(undefined as unknown as WitnessSetup);
  await expect(witness.finish()).rejects.toThrow(TypeError);
});
