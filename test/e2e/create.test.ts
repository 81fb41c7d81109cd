/** The one operation, over every protocol that the port speaks. */
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { type PlantCaller, refusalOf } from "../support/protocol/protocol.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { sqliteKind } from "../support/store-place.ts";
import { type StoredPlant, storedForm } from "../support/stored-plants.ts";
import { openTestServer } from "../support/test-server.ts";
import { useOpened } from "../support/use-test-server.ts";

const texts: readonly (readonly [kind: string, text: string])[] = [
  ["empty", ""],
  ["spaces at its ends", "  Basil \t"],
  ["line breaks", "Ba\r\nsil\n\u2028\u2029\u0085"],
  ["quotes and backslashes", `"Ba\\sil" 'x' \`y\` $z <b> & %41 \\u0041`],
  ["control characters", "\u0001\u0002\u001b[31m\u007f\u009f"],
  ["characters outside the BMP", "🌱🪴𝔹𐍈 👩‍👩‍👧"],
  ["composed letters (NFC)", "Caf\u00e9 \u1e69"],
  ["combining characters (NFD)", "Cafe\u0301 s\u0323\u0307"],
  ["U+FEFF at its ends", "\ufeff\ufeffBasil\ufeff"],
  ["U+FEFF alone", "\ufeff"],
  ["U+FFFD and noncharacters", "\ufffd\uffff\ufffe\ufdd0\u{10ffff}"],
  ["64 KiB", "é".repeat(32 * 1024)],
];

const taken = {
  code: Code.AlreadyExists,
  message: "another plant has this id (choose another id or repeat its name and tag)",
};

describe.each(protocols)("over $name", ({ name, open }) => {
  const place = useOpened(() => sqliteKind.open());
  const server = useOpened(() => openTestServer({ store: place.url }));
  let caller: PlantCaller;
  let lastId = 1000n;
  const nextId = () => ++lastId;

  beforeAll(() => {
    caller = open(server.url);
    return () => caller[Symbol.dispose]();
  });

  /** What the store must have after all tests, and nothing else. */
  const rows: StoredPlant[] = [];

  async function expectCreated(plant: { id: bigint; name: string; tag?: string }) {
    const { id: _, ...answer } = plant;
    expect(await caller.create(plant)).toStrictEqual({ ok: answer });
    rows.push(storedForm(plant));
  }

  test.each([{ tag: "herb" }, {}, { tag: "" }])("creates a plant with %j", (tag) =>
    expectCreated({ id: nextId(), name: "Basil", ...tag }),
  );

  test.each([0n, -1n, 1n, -(2n ** 63n), 2n ** 63n - 1n])("takes the id %s", (id) =>
    expectCreated({ id, name: "Basil", tag: "herb" }),
  );

  test("takes 9007199254740992 and 9007199254740993 for two plants", async () => {
    await expectCreated({ id: 9007199254740992n, name: "even" });
    await expectCreated({ id: 9007199254740993n, name: "odd" });
  });

  test.concurrent.each(texts)("keeps text exact: %s", async (_kind, text) => {
    await expectCreated({ id: nextId(), name: text, tag: text });
    await expectCreated({ id: nextId(), name: text });
  });

  test("creates an equal plant again with the same answer", async () => {
    const plant = { id: nextId(), name: "Basil", tag: "herb" };
    const answers = Array.from({ length: 20 }, () => caller.create(plant));
    const answer = { ok: { name: "Basil", tag: "herb" } };
    expect(await Promise.all(answers)).toStrictEqual(Array(20).fill(answer));
    await expectCreated(plant);
  });

  test("refuses another plant under an id that is taken", async () => {
    const plant = { id: nextId(), name: "Café", tag: "" };
    await expectCreated(plant);
    expect(await caller.create({ ...plant, name: "Mint" })).toMatchObject(taken);
  });

  test.each([
    ["no id", { name: "Basil" }, ["plant.id"], "id is required"],
    ["no name", { id: 1n }, ["plant.name"], "name is required"],
    ["neither", {}, ["plant.id", "plant.name"], "id is required; name is required"],
    ["U+0000 in the name", { id: 1n, name: "a\0" }, ["plant.name"], /^name must not .*U\+0000/],
    ["U+0000 in the tag", { id: 1n, name: "", tag: "\0" }, ["plant.tag"], /^tag must not/],
  ])("refuses a plant with %s, and says which field", async (_what, plant, fields, message) => {
    const refusal = refusalOf(await caller.create(plant));
    expect(refusal.code).toBe(Code.InvalidArgument);
    expect(refusal.message).toMatch(message);
    // REST has no details: there, the message has to do.
    expect(refusal.violations).toEqual(name.startsWith("REST") ? undefined : fields);
  });

  test("has stored exactly that", async () => {
    rows.sort((a, b) => (a.id < b.id ? -1 : 1));
    expect(await place.read()).toEqual(rows);
  });
});
