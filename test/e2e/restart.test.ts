/** What was answered with success is there after a restart, byte for byte. */

import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { protocols } from "../support/protocol/protocols.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
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

describe.each(protocols)("over $name", ({ open }) => {
  test("plants survive a restart, and equal retries succeed after it", async () => {
    await using folder = await createTemporaryFolder();
    const database = join(folder.path, "plants.db");
    const rows = plants.map(storedForm);
    {
      await using server = await openTestServer({ database });
      using caller = open(server.url);
      const outcomes = await Promise.all(plants.map((plant) => caller.create(plant)));
      expect(outcomes).toStrictEqual(plants.map(({ id: _, ...plant }) => ({ ok: plant })));
      expect(readStoredPlants(database)).toEqual(rows);
    }
    expect(readStoredPlants(database)).toEqual(rows);

    await using server = await openTestServer({ database });
    using caller = open(server.url);
    for (const { id, ...plant } of plants) {
      expect(await caller.create({ id, ...plant })).toStrictEqual({ ok: plant });
      expect(await caller.create({ id, name: "another" })).toMatchObject({
        code: Code.AlreadyExists,
      });
    }
    expect(readStoredPlants(database)).toEqual(rows);
  });
});
