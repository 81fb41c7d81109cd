import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { anyCharacter } from "../../packages/gateway/test/support/any-character.ts";
import {
  isSamePlant,
  type NewPlant,
  type Obstacle,
  type PlantStore,
  withoutId,
} from "../../src/plant.ts";
import { plantOf, plantsOf } from "./plant-of.ts";

/** Opens the store at one location, also again after it was closed. */
export type OpenStore = () => Promise<PlantStore>;

const taken = { name: "PlantError", code: "id_taken", field: "id" };

/**
 * Tests the promises of the PlantStore port for any engine, using only the port.
 *
 * @param openFresh Creates an empty location for plants, and removes it at the end of the test.
 */
export function storeSuite(engine: string, openFresh: () => Promise<OpenStore>): void {
  /** A new store, and a function that closes and reopens it. */
  async function start(): Promise<{ store: PlantStore; reopen: OpenStore }> {
    const open = await openFresh();
    let current = await open();
    onTestFinished(async () => await current.close());
    const reopen = async () => {
      await current.close();
      current = await open();
      return current;
    };
    return { store: current, reopen };
  }

  describe(`${engine}: a plant is stored`, () => {
    test("all ids are distinct", async () => {
      const { store, reopen } = await start();
      const plants = ids.map((id) => ({ id, name: `plant ${id}` }));
      for (const plant of plants) await store.create(plant);
      await expectAllKept(await reopen(), plants);
    });

    test.each(lookalikes)("text is exact: %s", async (_, text, lookalike) => {
      const { store, reopen } = await start();
      const plants = [text, lookalike].flatMap((one, index) => [
        { id: BigInt(2 * index), name: one, tag: "t" },
        { id: BigInt(2 * index + 1), name: "n", tag: one },
      ]);
      for (const plant of plants) expect(await store.create(plant)).toStrictEqual(withoutId(plant));
      const reopened = await reopen();
      for (const [index, plant] of plants.entries()) {
        const other = { ...plants[(index + 2) % 4], id: plant.id } as NewPlant;
        await expect(reopened.create(other)).rejects.toMatchObject(taken);
        await reopened.create(plant);
      }
    });
  });

  describe(`${engine}: an id is used once`, () => {
    test("creating the same plant succeeds again, sequentially and concurrently", async () => {
      const { store, reopen } = await start();
      const plant = plantOf(7);
      for (let again = 0; again < 3; again++) await store.create(plant);
      const same = Array.from({ length: 100 }, () => store.create({ ...plant }));
      expect(await Promise.all(same)).toEqual(same.map(() => withoutId(plant)));
      await (await reopen()).create(plant);
    });

    test.each<[string | undefined, readonly (string | undefined)[]]>([
      ["shade", ["sun", "", undefined]],
      ["", [undefined]],
      [undefined, ["", "NULL"]],
    ])("with the tag %j: another is rejected, and changes nothing", async (tag, otherTags) => {
      const { store, reopen } = await start();
      const plant = { id: 7n, name: "Fern", tag };
      await store.create(plant);
      const others = otherTags.map((other) => ({ ...plant, tag: other }));
      const expectTaken = async (current: PlantStore) => {
        for (const other of [{ ...plant, name: "Moss" }, ...others]) {
          await expect(current.create(other)).rejects.toMatchObject(taken);
        }
        expect(await current.create(plant)).toStrictEqual(withoutId(plant));
      };
      await expectTaken(store);
      await expectTaken(await reopen());
    });

    test("if equal and different plants race, all plants equal to the winner succeed", async () => {
      const { store, reopen } = await start();
      const racers = Array.from({ length: 300 }, (_, index) => {
        const variant = Math.floor(index / 10) % 6;
        return { id: BigInt(index % 10), name: `plant ${variant % 3}`, tag: `${variant}` };
      });
      const results = await Promise.allSettled(racers.map((racer) => store.create(racer)));
      const reopened = await reopen();
      for (let id = 0n; id < 10n; id++) {
        const won = racers.filter(
          (racer, index) => racer.id === id && results[index]?.status === "fulfilled",
        );
        expect(won).toEqual(Array(5).fill(won[0]));
        await expectAllKept(reopened, won.slice(0, 1));
      }
      const lost = results.filter((result) => result.status === "rejected");
      for (const { reason } of lost) expect(reason).toMatchObject(taken);
    });

    // It opens 40 stores.
    test("any history matches a map that keeps the first plant of each id", {
      timeout: 60_000,
    }, async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyPlant, { maxLength: 40 }), async (history) => {
          const open = await openFresh();
          let store = await open();
          const model = new Map<bigint, NewPlant>();
          for (const plant of history) {
            const first = model.get(plant.id) ?? plant;
            model.set(plant.id, first);
            const [{ status }] = await Promise.allSettled([store.create(plant)]);
            expect(status === "fulfilled").toBe(isSamePlant(first, plant));
          }
          await store.close();
          store = await open();
          await expectAllKept(store, model.values());
          await store.close();
        }),
        { numRuns: 20 },
      );
    });
  });

  describe(`${engine}: a caller may give up`, () => {
    const reason = new Error("too late");

    test("before it starts: nothing is written", async () => {
      const { store } = await start();
      const creating = store.create(plantOf(1), AbortSignal.abort(reason));
      await expect(creating).rejects.toBe(reason);
      await store.create({ ...plantOf(1), name: "another" });
    });
  });

  describe(`${engine}: the store closes`, () => {
    test("a thousand running creates are finished and are there after reopening", async () => {
      const { store, reopen } = await start();
      const ends: string[] = [];
      const creating = Promise.all(plantsOf(1000).map((plant) => store.create(plant)));
      const closing = store.close().then(() => ends.push("closed"));
      // Closing again waits for the first call.
      await Promise.all([
        creating.then(() => ends.push("created")),
        closing,
        store.close().then(() => ends.push("closed again")),
      ]);
      expect(ends).toEqual(["created", "closed", "closed again"]);
      await store.close();
      await expectAllKept(await reopen(), plantsOf(1000));
    });

    test("from then on, it is not ready, and creates fail as unavailable and write nothing", async () => {
      const { store, reopen } = await start();
      expect(store.obstacle()).toBeUndefined();
      const closing = store.close();
      for (const state of [undefined, closing]) {
        await state;
        expect(store.obstacle()).toBe("closed");
        const failure = { code: "unavailable", message: "the store is closed" };
        await expect(store.create(plantOf(1))).rejects.toMatchObject(failure);
      }
      await (await reopen()).create({ ...plantOf(1), name: "another" });
    });
  });
}

export async function expectAllKept(store: PlantStore, plants: Iterable<NewPlant>) {
  await Promise.all([...plants].map((plant) => expectKept(store, plant)));
}

/** A different plant first: the same one would also succeed if the original was lost. */
export async function expectKept(store: PlantStore, plant: NewPlant): Promise<void> {
  const other = { ...plant, name: `not ${plant.name}` };
  await expect(store.create(other)).rejects.toMatchObject(taken);
  expect(await store.create(plant)).toStrictEqual(withoutId(plant));
}

/** Waits until the store has detected an obstacle, or its end. */
export async function untilObstacle(store: PlantStore, obstacle?: Obstacle): Promise<void> {
  await expect.poll(() => store.obstacle(), { interval: 5 }).toBe(obstacle);
}

/** Neighbouring ids that a double, an int32 or an unsigned integer would confuse. */
const ids: readonly bigint[] = [
  ...[0n, 2n ** 31n, 2n ** 32n, 2n ** 53n].flatMap((id) => [id, id + 1n, -id - 1n, -id - 2n]),
  ...[2n ** 31n - 1n, 2n ** 53n - 1n, -(2n ** 53n), 2n ** 63n - 2n, 2n ** 63n - 1n],
  ...[-(2n ** 63n), -(2n ** 63n) + 1n],
];

/** Texts that a careless store would confuse. */
const lookalikes: readonly (readonly [title: string, text: string, lookalike: string])[] = [
  ["empty and a space", "", " "],
  ["a space at the end", "a ", "a"],
  ["CRLF and LF", "a\r\nb", "a\nb"],
  ["upper and lower case", "Aloe", "aloe"],
  ["composed and decomposed", "\u00e9", "e\u0301"],
  ["a byte order mark at the start", "\ufeffa", "a"],
  ["a byte order mark alone", "\ufeff", ""],
  ["an emoji with and without joiner", "\u{1f469}\u200d\u{1f33e}", "\u{1f469}\u{1f33e}"],
  ["beyond the BMP", "\u{1f331}", "\uf331"],
  ["the last code point and the replacement character", "\u{10ffff}", "\ufffd"],
  ["quotes", 'O\'Hara "x" `y`', "O''Hara \"x\" `y`"],
  ["SQL", "'); DROP TABLE plants; --", "); DROP TABLE plants; --"],
  ["100 kB that differ in the last character", "x".repeat(100_000), `${"x".repeat(99_999)}y`],
];

const anyText = fc.string({ unit: anyCharacter, maxLength: 3 }).filter((it) => !it.includes("\0"));

/** Few ids and texts, so that plants collide. */
const anyPlant: fc.Arbitrary<NewPlant> = fc.record({
  id: fc.oneof(
    fc.bigInt({ min: -2n, max: 2n }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  ),
  name: fc.oneof(fc.constantFrom("", "a", "b"), anyText),
  tag: fc.option(fc.oneof(fc.constantFrom("", "a"), anyText), { nil: undefined }),
});
