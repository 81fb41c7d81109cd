import { describe, expect, test } from "vitest";
import type { NewPlant } from "../../src/plant.ts";
import { compareStores } from "../../src/store/compare.ts";
import type { PlantReader } from "../../src/store/plant-reader.ts";
import { plantOf } from "./plant-of.ts";

/** Two plants a page. */
function readerOf(plants: readonly NewPlant[]): PlantReader {
  return {
    count: plants.length,
    readPage: async (from) => plants.filter(({ id }) => id >= from).slice(0, 2),
    async close() {},
  };
}

const plantsOf = (ids: readonly number[]) => ids.map((id) => plantOf(BigInt(id)));

async function compare(source: readonly NewPlant[], target: readonly NewPlant[]) {
  const told: number[] = [];
  const found = await compareStores(readerOf(source), readerOf(target), (done) => told.push(done));
  return { ...found, told };
}

describe("a source and a target", () => {
  test.each<[source: number[], target: number[], found: object]>([
    [[], [], { missing: undefined, matched: 0, last: undefined, told: [] }],
    [[-1, 2], [], { missing: -1n, matched: 0, last: undefined, told: [] }],
    [[-1, 2], [-1], { missing: 2n, matched: 1, last: -1n, told: [1] }],
    [[1, 2, 3], [1, 2, 3], { missing: undefined, matched: 3, last: 3n, told: [2, 3] }],
    [[1, 2, 3, 4, 5], [1, 2], { missing: 3n, matched: 2, last: 2n, told: [2] }],
    // What is missing in between.
    [[1, 2, 3], [1, 3], { missing: 2n, matched: 1, last: 3n, told: [2] }],
    [[1, 2, 3, 4, 5, 6, 7], [4, 6], { missing: 1n, matched: 0, last: 6n, told: [2] }],
  ])("with %j and %j", async (source, target, found) => {
    expect(await compare(plantsOf(source), plantsOf(target))).toEqual(found);
  });
});
