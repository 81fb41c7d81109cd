/** The one operation, over every protocol that the port speaks. */
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import type { PlantCaller } from "../support/protocol/protocol.ts";
import { refusalOf } from "../support/protocol/protocol.ts";
import { protocolsOnStores } from "../support/protocols-on-stores.ts";
import type { StorePlace } from "../support/store-place.ts";
import { storedForm } from "../support/stored-plants.ts";
import { openTestServer, type TestServer } from "../support/test-server.ts";

const texts: readonly (readonly [kind: string, text: string])[] = [
  ["empty", ""],
  ["spaces at its ends", "  Basil \t"],
  ["line breaks", "Ba\r\nsil\n\u2028\u2029\u0085"],
  ["quotes and backslashes", `"Ba\\sil" 'x' \`y\` $z <b> & %41 \\u0041`],
  ["control characters", "\u0001\u0002\u001b[31m\u007f\u009f"],
  ["characters outside the BMP", "🌱🪴𝔹𐍈 👩‍👩‍👧"],
  ["composed letters (NFC)", "Caf\u00e9 \u1e69"],
  ["combining characters (NFD)", "Cafe\u0301 s\u0323\u0307"],
  ["U+FEFF at its start", "\ufeffBasil"],
  ["U+FEFF at its start, twice", "\ufeff\ufeffBasil"],
  ["U+FEFF at its end", "Basil\ufeff"],
  ["U+FEFF alone", "\ufeff"],
  ["U+FFFD", "\ufffd"],
  ["noncharacters", "\uffff\ufdd0\u{10ffff}"],
  ["right-to-left marks", "\u202eabc\u202c ריחן"],
  ["JSON", '{"id":1}'],
  ["SQL", "'; DROP TABLE plants; --"],
  ["64 KiB", "é".repeat(32 * 1024)],
];

describe.each(protocolsOnStores)("over $name", ({ name, open, kind }) => {
  let place: StorePlace;
  let server: TestServer;
  let caller: PlantCaller;
  let lastId = 1000n;
  const nextId = () => ++lastId;

  beforeAll(async () => {
    place = await kind.open();
    server = await openTestServer({ store: place.url });
    caller = open(server.url);
    return async () => {
      caller[Symbol.dispose]();
      await server.close();
      await place[Symbol.asyncDispose]();
    };
  }, 60_000);

  const stored = async (id: bigint) => (await place.read()).find((row) => row.id === id);

  test("creates a plant with a tag", async () => {
    const plant = { id: nextId(), name: "Basil", tag: "herb" };
    expect(await caller.create(plant)).toStrictEqual({ ok: { name: "Basil", tag: "herb" } });
    expect(await stored(plant.id)).toEqual(storedForm(plant));
  });

  test("creates a plant without a tag, and answers without one", async () => {
    const plant = { id: nextId(), name: "Basil" };
    expect(await caller.create(plant)).toStrictEqual({ ok: { name: "Basil" } });
    expect(await stored(plant.id)).toEqual(storedForm(plant));
  });

  test("keeps an empty tag apart from none", async () => {
    const plant = { id: nextId(), name: "Basil", tag: "" };
    expect(await caller.create(plant)).toStrictEqual({ ok: { name: "Basil", tag: "" } });
    expect(await stored(plant.id)).toEqual(storedForm(plant));
    expect(await caller.create({ id: plant.id, name: "Basil" })).toMatchObject({
      code: Code.AlreadyExists,
    });
  });

  test.each([0n, -1n, 1n, -(2n ** 63n), 2n ** 63n - 1n])("takes the id %s", async (id) => {
    const plant = { id, name: "Basil", tag: "herb" };
    expect(await caller.create(plant)).toStrictEqual({ ok: { name: "Basil", tag: "herb" } });
    expect(await stored(id)).toEqual(storedForm(plant));
  });

  test("takes 9007199254740992 and 9007199254740993 for two plants", async () => {
    const even = { id: 9007199254740992n, name: "even" };
    const odd = { id: 9007199254740993n, name: "odd" };
    expect(await caller.create(even)).toStrictEqual({ ok: { name: "even" } });
    expect(await caller.create(odd)).toStrictEqual({ ok: { name: "odd" } });
    expect([await stored(even.id), await stored(odd.id)]).toEqual([
      storedForm(even),
      storedForm(odd),
    ]);
  });

  test.concurrent.each(texts)("keeps text exact: %s", async (_kind, text) => {
    const tagged = { id: nextId(), name: text, tag: text };
    expect(await caller.create(tagged)).toStrictEqual({ ok: { name: text, tag: text } });
    expect(await stored(tagged.id)).toEqual(storedForm(tagged));
    const plain = { id: nextId(), name: text };
    expect(await caller.create(plain)).toStrictEqual({ ok: { name: text } });
    expect(await stored(plain.id)).toEqual(storedForm(plain));
  });

  test("takes both normal forms of a name for two names", async () => {
    const id = nextId();
    await caller.create({ id, name: "Caf\u00e9" });
    expect(await caller.create({ id, name: "Cafe\u0301" })).toMatchObject({
      code: Code.AlreadyExists,
    });
  });

  test("creates an equal plant again with the same answer", async () => {
    const plant = { id: nextId(), name: "Basil", tag: "herb" };
    const first = await caller.create(plant);
    expect(await caller.create(plant)).toStrictEqual(first);
    expect(await Promise.all(Array.from({ length: 20 }, () => caller.create(plant)))).toEqual(
      Array.from({ length: 20 }, () => first),
    );
  });

  test.each([
    ["name", { name: "Mint", tag: "herb" }],
    ["tag", { name: "Basil", tag: "Herb" }],
    ["tag left out", { name: "Basil" }],
  ])("refuses another plant under an id that is taken: other %s", async (_what, other) => {
    const plant = { id: nextId(), name: "Basil", tag: "herb" };
    await caller.create(plant);
    expect(await caller.create({ id: plant.id, ...other })).toMatchObject({
      code: Code.AlreadyExists,
      message: "another plant has this id (choose another id or repeat its name and tag)",
    });
    expect(await stored(plant.id)).toEqual(storedForm(plant));
  });

  test("lets exactly one of the plants win that race for an id", async () => {
    const id = nextId();
    const plants = Array.from({ length: 10 }, (_, i) => ({ id, name: `racer ${i}` }));
    const outcomes = await Promise.all(plants.map((plant) => caller.create(plant)));
    const winners = outcomes.filter((outcome) => "ok" in outcome);
    expect(winners).toHaveLength(1);
    const winner = plants.find(({ name }) => winners[0]?.ok.name === name);
    expect(await stored(id)).toEqual(winner && storedForm(winner));
    const codes = outcomes.flatMap((outcome) => ("ok" in outcome ? [] : [outcome.code]));
    expect(codes).toEqual(Array(9).fill(Code.AlreadyExists));
  });

  test.each([
    ["no id", { name: "Basil" }, ["plant.id"], "id is required"],
    ["no name", { id: 1n }, ["plant.name"], "name is required"],
    ["neither", {}, ["plant.id", "plant.name"], "id is required; name is required"],
    ["U+0000 in the name", { id: 1n, name: "a\0" }, ["plant.name"], /^name must not .*U\+0000/],
    ["U+0000 in the tag", { id: 1n, name: "", tag: "\0" }, ["plant.tag"], /^tag must not/],
  ])("refuses a plant with %s, and says which field", async (_what, plant, fields, message) => {
    const before = await place.read();
    const refusal = refusalOf(await caller.create(plant));
    expect(refusal).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringMatching(message),
    });
    // REST has no details: there, the message has to do.
    const isRest = name.startsWith("REST");
    expect(refusal.violations?.map(({ field }) => field)).toEqual(isRest ? undefined : fields);
    expect(await place.read()).toEqual(before);
  });

  test.each([
    ["none", null, /^Bearer realm="[^"]*"$/],
    ["an empty one", "", /^Bearer realm="[^"]*"$/],
    ["another scheme", "Basic dXNlcjpwYXNz", /^Bearer realm="[^"]*"$/],
    ["an unknown token", "Bearer not-the-token-of-anyone", /error="invalid_token"/],
    ["a malformed token", "Bearer a b", /error="invalid_token"/],
    ["a scheme without a token", "Bearer", /error="invalid_token"/],
  ])("refuses an authorization that is %s", async (_what, authorization, challenge) => {
    const plant = { id: nextId(), name: "Basil" };
    const refusal = refusalOf(await caller.create(plant, { authorization }));
    expect(refusal.code).toBe(Code.Unauthenticated);
    expect(refusal.metadata.get("www-authenticate")).toMatch(challenge);
    expect(await stored(plant.id)).toBeUndefined();
  });

  test("takes the scheme of the authorization in any case", async () => {
    const authorization = "bEARER a-token-for-tests-alone";
    expect(await caller.create({ id: nextId(), name: "Basil" }, { authorization })).toStrictEqual({
      ok: { name: "Basil" },
    });
  });

  test("refuses a message over the limit", async () => {
    const plant = { id: nextId(), name: "x".repeat(1024 * 1024) };
    expect(await caller.create(plant)).toMatchObject({ code: Code.ResourceExhausted });
    expect(await stored(plant.id)).toBeUndefined();
  });
});
