/** The store as a tool: the official clients create plants, with the answers of REST. */
import { readdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { nodeOfSources } from "../../packages/gateway/test/runtimes/server-process.ts";
import { clients, stdioClients } from "../../packages/gateway/test/support/mcp-client.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { temporaryFolder } from "../store/temporary.ts";
import { main, spawnChild } from "../support/child.ts";
import { authorization } from "../support/plant-request.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { useTestServer } from "../support/use-test-server.ts";

const headers = { authorization };
const big = "9007199254740993";

const server = useTestServer({ mcp: true, basePath: "/api" });
const without = useTestServer();
const stdio = useTestServer();

describe.each(clients)("%s", (_by, connect) => {
  test("creates a plant, exactly, or is told which field is wrong", async () => {
    await using client = await connect(`${server.url}/mcp`, headers);
    const plant = { id: big, name: "Basil", tag: "" };
    const created = await client.call("create_plant", { plant });
    expect(created.structuredContent).toEqual({ plant: { name: "Basil", tag: "" } });
    const near = { plant: { ...plant, id: "9007199254740992", name: "Mint" } };
    expect((await client.call("create_plant", near)).isError).toBeFalsy();
    const taken = await client.call("create_plant", { plant: { ...plant, name: "Sage" } });
    expect(JSON.parse(taken.content[0]?.text ?? "")).toMatchObject({ code: "ALREADY_EXISTS" });
    const wrong = { plant: { id: "1", name: "\0" } };
    const { content, isError } = await client.call("create_plant", wrong);
    expect(isError).toBe(true);
    expect(JSON.parse(content[0]?.text ?? "")).toMatchObject({
      code: "INVALID_ARGUMENT",
      details: [{ fieldViolations: [{ field: "plant.name" }] }],
    });
  });

  test("is refused without a token, and offered nothing without the setting", async () => {
    await expect(connect(`${server.url}/mcp`)).rejects.toThrow();
    await expect(connect(`${without.url}/mcp`, headers)).rejects.toThrow();
  });
});

test("the tool is described by the contract", async () => {
  const [, connect] = clients[0];
  await using client = await connect(`${server.url}/mcp`, headers);
  const [tool, ...others] = await client.listTools();
  expect(others).toEqual([]);
  expect(tool).toMatchObject({
    ...{ name: "create_plant", title: "Create plant", annotations: { idempotentHint: true } },
    description: expect.stringContaining("A retry is safe"),
    inputSchema: { required: ["plant"] },
  });
});

describe.each(stdioClients)("plant-store mcp and %s", (_by, connect) => {
  test("create a plant in the store of a running server, exactly", async () => {
    const cwd = await temporaryFolder();
    const args = [...nodeOfSources.slice(1), main, "mcp", "--store", `sqlite:${stdio.database}`];
    await using client = await connect({ command: process.execPath, args, cwd, env: {} });
    const plant = { id: big, name: "Basil" };
    const created = await client.call("create_plant", { plant });
    expect(created.structuredContent).toEqual({ plant: { name: "Basil" } });
    const wrong = await client.call("create_plant", { plant: { ...plant, name: "Mint" } });
    expect(JSON.parse(wrong.content[0]?.text ?? "")).toMatchObject({ code: "ALREADY_EXISTS" });
    for (const more of [{ tags: Array(2000).fill(0) }, { tag: "x".repeat(2 ** 20) }]) {
      const long = client.call("create_plant", { plant, ...more });
      await expect(long).rejects.toThrow(/more than|larger/);
    }
    const stored = storedForm({ id: BigInt(big), name: "Basil" });
    expect(readStoredPlants(stdio.database)).toEqual([stored]);
  });
});

test("plant-store mcp ends in order at a signal", async () => {
  const cwd = await temporaryFolder();
  await using child = spawnChild(["mcp", "--store", "sqlite:plants.db"], { cwd, stdin: "open" });
  child.process.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await child.stdout.until(/"id":1/);
  child.process.kill("SIGINT");
  expect(await within("its end", child.exited)).toEqual({ code: 0, signal: null });
  expect([child.stderr.text, await readdir(cwd)]).toEqual(["", ["plants.db"]]);
});
