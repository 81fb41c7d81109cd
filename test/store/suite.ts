import { getEventListeners } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { NewPlant, PlantStore } from "../../src/plant.ts";
import { plantOf } from "./plant-of.ts";

/** Opens the store at one location, also again after it was closed. */
export type OpenStore = () => Promise<PlantStore>;

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
    test("the result is its name and tag", async () => {
      const { store } = await start();
      const answer = await store.create({ id: 1n, name: "Fern", tag: "shade" });
      expect(answer).toStrictEqual({ name: "Fern", tag: "shade" });
      const untagged = await store.create({ id: 2n, name: "Moss", tag: undefined });
      expect(untagged).toStrictEqual({ name: "Moss", tag: undefined });
    });

    test("a thousand plants are there after reopening", async () => {
      const { store, reopen } = await start();
      const plants = Array.from({ length: 1000 }, (_, index) => plantOf(BigInt(index)));
      await Promise.all(plants.map((plant) => store.create(plant)));
      const reopened = await reopen();
      await expectAllKept(reopened, plants);
    });

    test("all ids are distinct", async () => {
      const { store, reopen } = await start();
      const plants = ids.map((id) => ({ id, name: `plant ${id}`, tag: undefined }));
      for (const plant of plants) await store.create(plant);
      const reopened = await reopen();
      await expectAllKept(reopened, plants);
    });

    test.each(lookalikes)("text is exact: %s", async (_, text, lookalike) => {
      const { store, reopen } = await start();
      const pairs: [NewPlant, NewPlant][] = [text, lookalike].flatMap((one, index) => {
        const other = one === text ? lookalike : text;
        const [named, tagged] = [BigInt(2 * index), BigInt(2 * index + 1)];
        return [
          [
            { id: named, name: one, tag: "t" },
            { id: named, name: other, tag: "t" },
          ],
          [
            { id: tagged, name: "n", tag: one },
            { id: tagged, name: "n", tag: other },
          ],
        ];
      });
      for (const [plant] of pairs) {
        const { name, tag } = plant;
        expect(await store.create(plant)).toStrictEqual({ name, tag });
      }
      const reopened = await reopen();
      for (const [plant, other] of pairs) {
        await expect(reopened.create(other)).rejects.toMatchObject({ code: "id_taken" });
        await reopened.create(plant);
      }
    });

    test.each<[string, string | undefined, string | undefined]>([
      ["no tag and the empty tag", undefined, ""],
      ["no tag and the tag NULL", undefined, "NULL"],
      ["the empty tag and no tag", "", undefined],
      ["a tag and no tag", "x", undefined],
    ])("%s are different", async (_, tag, other) => {
      const { store, reopen } = await start();
      await store.create({ id: 1n, name: "Fern", tag });
      const reopened = await reopen();
      await expect(reopened.create({ id: 1n, name: "Fern", tag: other })).rejects.toMatchObject({
        code: "id_taken",
      });
      expect(await reopened.create({ id: 1n, name: "Fern", tag })).toStrictEqual({
        name: "Fern",
        tag,
      });
    });
  });

  describe(`${engine}: an id is used once`, () => {
    test("creating the same plant succeeds again, sequentially and concurrently", async () => {
      const { store, reopen } = await start();
      const plant = plantOf(7n);
      for (let again = 0; again < 3; again++) await store.create(plant);
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => store.create({ ...plant })),
      );
      expect(new Set(answers.map((answer) => answer.name))).toEqual(new Set([plant.name]));
      await (await reopen()).create(plant);
    });

    test("a different plant is rejected, names the field, and changes nothing", async () => {
      const { store, reopen } = await start();
      const plant = { id: 7n, name: "Fern", tag: "shade" };
      await store.create(plant);
      for (const other of [
        { ...plant, name: "Moss" },
        { ...plant, tag: "sun" },
        { ...plant, tag: undefined },
      ]) {
        await expect(store.create(other)).rejects.toMatchObject({
          name: "PlantError",
          code: "id_taken",
          field: "id",
        });
      }
      await store.create(plant);
      await expectKept(await reopen(), plant);
    });

    test("if different plants race for an id, exactly one wins", async () => {
      const { store, reopen } = await start();
      const winners: NewPlant[] = [];
      for (let id = 0n; id < 50n; id++) {
        const racers = Array.from({ length: 20 }, (_, racer) => ({
          ...plantOf(id),
          tag: `${racer}`,
        }));
        const results = await Promise.allSettled(racers.map((racer) => store.create(racer)));
        const won = racers.filter((_, index) => results[index]?.status === "fulfilled");
        expect(won).toHaveLength(1);
        for (const result of results) {
          if (result.status === "rejected") expect(result.reason.code).toBe("id_taken");
        }
        winners.push(...won);
      }
      const reopened = await reopen();
      await expectAllKept(reopened, winners);
    });

    test("if equal and different plants race, all plants equal to the winner succeed", async () => {
      const { store, reopen } = await start();
      const racers = Array.from({ length: 300 }, (_, index) => ({
        id: BigInt(index % 10),
        name: `plant ${Math.floor(index / 10) % 3}`,
        tag: undefined,
      }));
      const results = await Promise.allSettled(racers.map((racer) => store.create(racer)));
      const reopened = await reopen();
      for (let id = 0n; id < 10n; id++) {
        const won = racers.filter(
          (racer, index) => racer.id === id && results[index]?.status === "fulfilled",
        );
        expect(won).toHaveLength(10);
        expect(new Set(won.map((racer) => racer.name)).size).toBe(1);
        await expectAllKept(reopened, won.slice(0, 1));
      }
    });

    test("a rejected plant does not make others fail", async () => {
      const { store } = await start();
      await store.create({ ...plantOf(50n), name: "first" });
      const results = await Promise.allSettled(
        Array.from({ length: 100 }, (_, index) => store.create(plantOf(BigInt(index)))),
      );
      const failed = results.flatMap(({ status }, index) => (status === "rejected" ? [index] : []));
      expect(failed).toEqual([50]);
    });

    test("any history matches a map that keeps the first plant of each id", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anyPlant, { maxLength: 40 }), async (history) => {
          const open = await openFresh();
          let store = await open();
          const model = new Map<bigint, NewPlant>();
          for (const plant of history) {
            const first = model.get(plant.id) ?? plant;
            model.set(plant.id, first);
            const created = await store.create(plant).then(
              () => true,
              () => false,
            );
            expect(created).toBe(first.name === plant.name && first.tag === plant.tag);
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
    test("before it starts: nothing is written", async () => {
      const { store } = await start();
      const reason = new Error("too late");
      const creating = store.create(plantOf(1n), AbortSignal.abort(reason));
      await expect(creating).rejects.toBe(reason);
      await store.create({ ...plantOf(1n), name: "another" });
    });

    test.each([
      ["at once", 0],
      ["a turn of the event loop later", 1],
      ["some turns later", 5],
    ])(
      "%s: it gets its reason or success, and the same call shows the outcome later",
      async (_, turns) => {
        const { store, reopen } = await start();
        const reason = new Error("too late");
        const controller = new AbortController();
        const creating = store.create(plantOf(1n), controller.signal);
        const result = creating.then(
          () => "created",
          (error: unknown) => error,
        );
        for (let turn = 0; turn < turns; turn++) await nextTurn();
        controller.abort(reason);
        expect(["created", reason]).toContain(await result);
        await store.create(plantOf(1n));
        await expectKept(await reopen(), plantOf(1n));
      },
    );

    test("without affecting other callers", async () => {
      const { store, reopen } = await start();
      const controller = new AbortController();
      const creating = Array.from({ length: 300 }, (_, index) =>
        store.create(plantOf(BigInt(index)), index % 3 === 0 ? controller.signal : undefined),
      );
      controller.abort("gone");
      const results = await Promise.allSettled(creating);
      const reopened = await reopen();
      for (const [index, result] of results.entries()) {
        if (index % 3 === 0) expect(result).toEqual({ status: "rejected", reason: "gone" });
        else expect(result.status).toBe("fulfilled");
      }
      const kept = [...results.keys()].filter((index) => index % 3 > 0);
      await expectAllKept(
        reopened,
        kept.map((index) => plantOf(BigInt(index))),
      );
    });

    test("without leaving a listener on its signal", async () => {
      const { store } = await start();
      const { signal } = new AbortController();
      await Promise.allSettled(
        Array.from({ length: 100 }, (_, index) =>
          store.create({ ...plantOf(BigInt(index % 50)), name: `${index % 60}` }, signal),
        ),
      );
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    });
  });

  describe(`${engine}: the store closes`, () => {
    test("it is ready before, and not after", async () => {
      const { store } = await start();
      expect(store.obstacle()).toBeUndefined();
      const closing = store.close();
      expect(store.obstacle()).toBe("closed");
      await closing;
      expect(store.obstacle()).toBe("closed");
    });

    test("running creates are finished and are there after reopening", async () => {
      const { store, reopen } = await start();
      const plants = Array.from({ length: 1000 }, (_, index) => plantOf(BigInt(index)));
      const creating = Promise.all(plants.map((plant) => store.create(plant)));
      await store.close();
      await creating;
      const reopened = await reopen();
      await expectAllKept(reopened, plants);
    });

    test("later creates fail as unavailable and write nothing", async () => {
      const { store, reopen } = await start();
      const closing = store.close();
      await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
      await closing;
      await expect(store.create(plantOf(1n))).rejects.toMatchObject({ code: "unavailable" });
      await (await reopen()).create({ ...plantOf(1n), name: "another" });
    });

    test("closing again waits for the first call", async () => {
      const { store } = await start();
      const creating = store.create(plantOf(1n));
      const first = store.close();
      const ends: string[] = [];
      await Promise.all([
        creating.then(() => ends.push("created")),
        first.then(() => ends.push("closed")),
        store.close().then(() => ends.push("closed again")),
      ]);
      expect(ends).toEqual(["created", "closed", "closed again"]);
      await store.close();
    });
  });
}

export async function expectAllKept(store: PlantStore, plants: Iterable<NewPlant>) {
  await Promise.all([...plants].map((plant) => expectKept(store, plant)));
}

/** A different plant first: the same one would also succeed if the original was lost. */
export async function expectKept(store: PlantStore, plant: NewPlant): Promise<void> {
  const other = { ...plant, name: `not ${plant.name}` };
  await expect(store.create(other)).rejects.toMatchObject({ code: "id_taken" });
  const { name, tag } = plant;
  expect(await store.create(plant)).toStrictEqual({ name, tag });
}

/** Neighbouring ids that a double, an int32 or an unsigned integer would confuse. */
const ids: readonly bigint[] = [
  0n,
  1n,
  -1n,
  2n ** 31n - 1n,
  2n ** 31n,
  2n ** 32n,
  2n ** 32n + 1n,
  2n ** 53n - 1n,
  9007199254740992n,
  9007199254740993n,
  -9007199254740992n,
  -9007199254740993n,
  2n ** 63n - 2n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  -(2n ** 63n) + 1n,
];

/** Texts that a careless store would confuse. */
const lookalikes: readonly (readonly [title: string, text: string, lookalike: string])[] = [
  ["empty and a space", "", " "],
  ["a space at the end", "a ", "a"],
  ["a space at the start", " a", "a"],
  ["a newline at the end", "a\n", "a"],
  ["CRLF and LF", "a\r\nb", "a\nb"],
  ["upper and lower case", "Aloe", "aloe"],
  ["composed and decomposed", "\u00e9", "e\u0301"],
  ["a compatibility character", "\ufb01g", "fig"],
  ["full width", "\uff21", "A"],
  ["a byte order mark at the start", "\ufeffa", "a"],
  ["a byte order mark alone", "\ufeff", ""],
  ["an emoji with and without joiner", "\u{1f469}\u200d\u{1f33e}", "\u{1f469}\u{1f33e}"],
  ["beyond the BMP", "\u{1f331}", "\uf331"],
  ["the last code point and the replacement character", "\u{10ffff}", "\ufffd"],
  ["a noncharacter", "\uffff", "\ufffd"],
  ["a control character", "a\u0001", "a"],
  ["numbers", "1", "1.0"],
  ["leading zeros", "007", "7"],
  ["quotes", 'O\'Hara "x" `y`', "O''Hara \"x\" `y`"],
  ["SQL", "'); DROP TABLE plants; --", "); DROP TABLE plants; --"],
  ["a backslash", "\\n", "\n"],
  ["a wildcard", "%", "a"],
  ["100 kB that differ in the last character", "x".repeat(100_000), `${"x".repeat(99_999)}y`],
  ["100 kB of emoji", "\u{1f331}".repeat(25_000), "\u{1f331}".repeat(24_999)],
];

const anyText = fc.string({ unit: "binary", maxLength: 3 }).filter((text) => !text.includes("\0"));

/** Few ids and texts, so that plants collide. */
const anyPlant: fc.Arbitrary<NewPlant> = fc.record({
  id: fc.oneof(
    fc.bigInt({ min: -2n, max: 2n }),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  ),
  name: fc.oneof(fc.constantFrom("", "a", "b"), anyText),
  tag: fc.option(fc.oneof(fc.constantFrom("", "a"), anyText), { nil: undefined }),
});
