/** The store as a tool: the official clients create plants, with the answers of REST. */
import { readdir, rm } from "node:fs/promises";
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
  test("finds what the contract says, creates a plant, exactly, or is told what is wrong", async () => {
    await using client = await connect(`${server.url}/mcp`, headers);
    const about = { name: "create_plant", annotations: { idempotentHint: true } };
    const said = { title: "Create plant", description: expect.stringContaining("retry is safe") };
    const schema = { required: ["plant"], properties: { plant: { required: ["id", "name"] } } };
    expect(await client.listTools()).toMatchObject([{ ...about, ...said, inputSchema: schema }]);
    const plant = { id: big, name: "Basil", tag: "" };
    const created = await client.call("create_plant", { plant });
    expect(created.structuredContent).toEqual({ plant: { name: "Basil", tag: "" } });
    const near = { plant: { ...plant, id: "9007199254740992", name: "Mint" } };
    expect((await client.call("create_plant", near)).isError).toBeFalsy();
    const taken = await client.call("create_plant", { plant: { ...plant, name: "Sage" } });
    expect(JSON.parse(taken.content[0]?.text ?? "")).toMatchObject({ code: "ALREADY_EXISTS" });
    const wrong = await client.call("create_plant", { plant: { id: "1", name: "\0" } });
    expect([wrong.isError, JSON.parse(wrong.content[0]?.text ?? "")]).toMatchObject([
      true,
      { code: "INVALID_ARGUMENT", details: [{ fieldViolations: [{ field: "plant.name" }] }] },
    ]);
  });

  test("is refused without a token, and offered nothing without the setting", async () => {
    await expect(connect(`${server.url}/mcp`)).rejects.toThrow();
    await expect(connect(`${without.url}/mcp`, headers)).rejects.toThrow();
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
    expect(readStoredPlants(stdio.database)).toEqual([storedForm({ ...plant, id: BigInt(big) })]);
  });
});

test.each([
  ["at a signal", 0, /^.*"id":1.*\n$/],
  ["when its store is lost, of which calls are told", 1, /"id":2.*UNAVAILABLE/],
])("plant-store mcp ends in order %s", async (_when, code, last) => {
  const cwd = await temporaryFolder();
  await using child = spawnChild(["mcp", "--store", "sqlite:plants.db"], { cwd, stdin: "open" });
  const send = (id: number, method: string, params = {}) =>
    child.process.stdin?.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  send(1, "ping");
  await child.stdout.until(/"id":1/);
  if (code === 0) child.process.kill("SIGINT");
  else {
    await rm(`${cwd}/plants.db`);
    const create = { name: "create_plant", arguments: { plant: { id: "1", name: "Basil" } } };
    send(2, "tools/call", create);
  }
  expect(await within("its end", child.exited)).toEqual({ code, signal: null });
  expect(child.stdout.text).toMatch(last);
  if (code === 0) expect([child.stderr.text, await readdir(cwd)]).toEqual(["", ["plants.db"]]);
});
