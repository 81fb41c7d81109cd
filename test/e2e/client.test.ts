/** The typed client of the package, against a server. */
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createPlantClient, type PlantClientOptions } from "../../src/index.ts";
import { lockStore } from "../support/locked-store.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const server = useTestServer({ basePath: "/api" });

function createClient(options?: Partial<PlantClientOptions>) {
  return createPlantClient({ baseUrl: server.url, token: knownToken, ...options });
}

test.each([
  { id: 2n ** 63n - 1n, name: "Basil", tag: "🌱" },
  { id: -(2n ** 63n), name: "Basil", tag: "" },
  { id: 9007199254740993n, name: "Basil" },
  { id: 0n, name: "Basil" },
])("sends and answers %o exactly", async (plant) => {
  const { plant: answer } = await createClient().createPlant({ plant });
  expect([answer?.name, answer?.tag]).toEqual([plant.name, plant.tag]);
  const stored = readStoredPlants(server.database).find(({ id }) => id === plant.id);
  expect(stored).toEqual(storedForm(plant));
});

test("gives up after its timeout", async () => {
  using _lock = lockStore(server.database);
  const call = createClient({ timeoutMs: 50 }).createPlant({ plant: { id: 14n, name: "Basil" } });
  await expect(call).rejects.toMatchObject({ code: Code.DeadlineExceeded });
});

test("sends no text that UTF-8 cannot carry", async () => {
  const call = createClient().createPlant({ plant: { id: 15n, name: "🌱".slice(0, 1) } });
  const message = "plant.name must not contain a lone surrogate";
  await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument, rawMessage: message });
});
