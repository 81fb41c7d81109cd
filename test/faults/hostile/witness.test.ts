/** The results and errors of clients on a separate thread reach the campaign. */
import { expect, test } from "vitest";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { openTestServer } from "../../support/test-server.ts";
import { Recorder } from "../history/recorder.ts";
import { Witness } from "./witness.ts";
import type { WitnessSetup } from "./witness-thread.ts";

test("requests have the times of this thread's clock, and are counted", async () => {
  await using server = await openTestServer();
  const recorder = new Recorder();
  const startMs = performance.now();
  await using witness = new Witness({ url: server.url, seed: 1 });
  recorder.adopt(await witness.finish());
  const endMs = performance.now();

  expect(recorder.stored).toBeGreaterThan(0);
  expect(recorder.requests.filter((request) => request.startMs < startMs)).toEqual([]);
  expect(recorder.requests.filter((request) => request.endMs > endMs)).toEqual([]);
  await recorder.read(async () => readStoredPlants(server.database));
  expect(recorder.check()).toEqual([]);
});

test("what the thread throws is rethrown", async () => {
  await using witness = new Witness(undefined as unknown as WitnessSetup);
  await expect(witness.finish()).rejects.toThrow(TypeError);
});
