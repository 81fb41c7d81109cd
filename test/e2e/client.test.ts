/** The typed client of the package, against a server. */
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createPlantClient, type PlantClientOptions } from "../../src/index.ts";
import { lockStore } from "../support/locked-store.ts";
import { knownToken } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

const server = useTestServer({ basePath: "/api" });

function createClient(options?: Partial<PlantClientOptions>) {
  return createPlantClient({ baseUrl: server.url, token: knownToken, ...options });
}

test("gives up after its timeout", async () => {
  using _lock = lockStore(server.database);
  const call = createClient({ timeoutMs: 50 }).createPlant({ plant: { id: 14n, name: "Basil" } });
  await expect(call).rejects.toMatchObject({ code: Code.DeadlineExceeded });
});

test.each(["name", "tag"])("sends no %s that UTF-8 cannot carry", async (field) => {
  const call = createClient().createPlant({ plant: { id: 15n, name: "", [field]: "\ud83c" } });
  const message = `plant.${field} must not contain a lone surrogate`;
  await expect(call).rejects.toMatchObject({ code: Code.InvalidArgument, rawMessage: message });
});
