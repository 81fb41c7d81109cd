/** The typed client of the package, against a server. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createPlantClient, type TokenSource } from "../../src/index.ts";
import { lockStore } from "../support/locked-store.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

describe("the client", () => {
  const server = useTestServer();

  const clientWith = (token: TokenSource) => createPlantClient({ baseUrl: server.url, token });

  async function errorOf(call: Promise<unknown>): Promise<ConnectError> {
    const error = await call.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error instanceof ConnectError) return error;
    throw new Error("the call did not fail with a ConnectError", { cause: error });
  }

  test.each([2n ** 63n - 1n, -(2n ** 63n), 9007199254740993n, 0n])(
    "sends the id %s exactly",
    async (id) => {
      const plant = { id, name: "Basil", tag: "🌱" };
      const { plant: answer } = await clientWith(knownToken).createPlant({ plant });
      expect(answer).toMatchObject({ name: "Basil", tag: "🌱" });
      const stored = readStoredPlants(server.database).find((row) => row.id === id);
      expect(stored).toEqual(storedForm(plant));
    },
  );

  test("keeps no tag apart from an empty one", async () => {
    const client = clientWith(knownToken);
    const without = await client.createPlant({ plant: { id: 11n, name: "Basil" } });
    const empty = await client.createPlant({ plant: { id: 12n, name: "Basil", tag: "" } });
    expect([without.plant?.tag, empty.plant?.tag]).toEqual([undefined, ""]);
  });

  test("asks a function for the token of each call", async () => {
    const tokens = ["an-old-token-of-mine", knownToken];
    const client = clientWith(async () => tokens.shift() ?? "");
    const call = () => client.createPlant({ plant: { id: 13n, name: "Basil" } });
    expect((await errorOf(call())).code).toBe(Code.Unauthenticated);
    expect((await call()).plant?.name).toBe("Basil");
  });

  test.each([
    ["an unknown token", "a-token-that-nobody-knows", { id: 1n, name: "x" }, Code.Unauthenticated],
    ["a taken id", knownToken, { id: 0n, name: "other" }, Code.AlreadyExists],
    ["a missing name", knownToken, { id: 1n }, Code.InvalidArgument],
    ["U+0000", knownToken, { id: 1n, name: "\0" }, Code.InvalidArgument],
    [
      "a plant over the limit",
      knownToken,
      { id: 1n, name: "x".repeat(2e6) },
      Code.ResourceExhausted,
    ],
  ])("rejects %s with the code", async (_what, token, plant, code) => {
    expect((await errorOf(clientWith(token).createPlant({ plant }))).code).toBe(code);
  });

  test("gives up after its timeout", async () => {
    using _lock = lockStore(server.database);
    const client = createPlantClient({ baseUrl: server.url, token: knownToken, timeoutMs: 50 });
    const error = await errorOf(client.createPlant({ plant: { id: 14n, name: "Basil" } }));
    expect(error.code).toBe(Code.DeadlineExceeded);
  });

  test("rejects with a code when nobody listens", async () => {
    const client = createPlantClient({ baseUrl: "http://127.0.0.1:1", token: knownToken });
    const error = await errorOf(client.createPlant({ plant: { id: 1n, name: "Basil" } }));
    expect(Code[error.code]).toBeDefined();
  });
});
