/** What was answered with success is there after a restart, byte for byte. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { protocolsOnStores } from "../support/protocols-on-stores.ts";
import { storedForm } from "../support/stored-plants.ts";
import { openTestServer } from "../support/test-server.ts";

const plants = [
  { id: -(2n ** 63n), name: "lowest" },
  { id: -9007199254740993n, name: "odd and negative", tag: "" },
  { id: 0n, name: "" },
  { id: 9007199254740992n, name: "even", tag: "🌱" },
  { id: 9007199254740993n, name: "odd", tag: "Cafe\u0301" },
  { id: 9007199254740994n, name: "\ufeffeven", tag: "Caf\u00e9" },
  { id: 2n ** 63n - 1n, name: "highest" },
];

// What a store keeps does not depend on the protocol.
const two = protocolsOnStores.filter(({ name }) => /^(REST.*1\.1|gRPC over)/.test(name));

describe.each(two)("over $name", ({ kind, open }) => {
  test("plants survive a restart, and equal retries succeed after it", async () => {
    await using place = await kind.open();
    const rows = plants.map(storedForm);
    {
      await using server = await openTestServer({ store: place.url });
      using caller = open(server.url);
      const outcomes = await Promise.all(plants.map((plant) => caller.create(plant)));
      expect(outcomes).toStrictEqual(plants.map(({ id: _, ...plant }) => ({ ok: plant })));
      expect(await place.read()).toEqual(rows);
    }
    expect(await place.read()).toEqual(rows);

    await using server = await openTestServer({ store: place.url });
    using caller = open(server.url);
    for (const { id, ...plant } of plants) {
      expect(await caller.create({ id, ...plant })).toStrictEqual({ ok: plant });
      expect(await caller.create({ id, name: "another" })).toMatchObject({
        code: Code.AlreadyExists,
      });
    }
    expect(await place.read()).toEqual(rows);
  });
});
