/**
 * The promise that counts: what was answered with success is there, whatever
 * happens to the process. Killed under load over REST and gRPC at once, at a
 * random moment, and started again on the same store.
 */

import { randomInt } from "node:crypto";
import http from "node:http";
import { describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { grpcJs } from "../support/protocol/grpc-js.ts";
import { newPlantJson } from "../support/protocol/message.ts";
import { type StorePlace, storeKinds } from "../support/store-place.ts";
import { type StoredPlant, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";

interface TestPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string;
}

/** What happened to the plants, kept where no kill reaches it. */
interface Ledger {
  /** Answered with success. */
  readonly confirmed: Map<bigint, TestPlant>;
  /** Asked for, and never answered: may be there or not. */
  readonly unknown: Map<bigint, TestPlant>;
}

/** The campaign `kill` does more. */
const rounds = 2;
const callersEach = 8;
/** Far beyond 2^53, where a rounded id would be another plant's. */
const firstId = 2n ** 60n + 1n;

function plantOf(id: bigint): TestPlant {
  const name = `🌱 ${id} ${"x".repeat(Number(id % 97n))}`;
  return id % 3n === 0n ? { id, name } : { id, name, tag: id % 3n === 1n ? "" : `tag\n${id}` };
}

describe.each(storeKinds)("on $store", ({ isMissing, open }) => {
  const title = `every plant that was confirmed survives ${rounds} kills under load`;
  test.skipIf(isMissing)(title, { timeout: 60_000 }, async () => {
    await using folder = await createTemporaryFolder();
    await using place = await open();
    const args = ["--store", place.url];
    const start = () => spawnServer({ cwd: folder.path, args });
    const ledger: Ledger = { confirmed: new Map(), unknown: new Map() };
    let nextId = firstId;
    const takeId = () => nextId++;
    const killedAfter: number[] = [];

    for (let round = 0; round < rounds; round++) {
      await using server = await start();
      // What the last process left unanswered is asked for again: a retry is safe.
      await retryUnknown(server, ledger);
      await expectAllThere(ledger, place);
      const killAt = ledger.confirmed.size + randomInt(1, 400);
      killedAfter.push(killAt);
      await loadUntilKilled(server, ledger, { takeId, killAt });
    }

    await using server = await start();
    await expectAllThere(ledger, place);
    await retryUnknown(server, ledger);
    await expectAllThere(ledger, place);
    expect(await place.read(), `killed at ${killedAfter}`).toHaveLength(ledger.confirmed.size);
  });
});

async function expectAllThere({ confirmed }: Ledger, place: StorePlace): Promise<void> {
  const rows = new Map((await place.read()).map((row) => [row.id, row]));
  const isLost = (plant: TestPlant) => !isEqual(rows.get(plant.id), storedForm(plant));
  expect([...confirmed.values()].filter(isLost)).toEqual([]);
}

function isEqual(one: StoredPlant | undefined, other: StoredPlant): boolean {
  return one?.id === other.id && one.name === other.name && one.tag === other.tag;
}

type Create = (plant: TestPlant) => Promise<boolean>;

/** Callers of both protocols, each with one request at a time, until the process is gone. */
async function loadUntilKilled(
  server: ChildServer,
  ledger: Ledger,
  { takeId, killAt }: { takeId: () => bigint; killAt: number },
): Promise<void> {
  using clients = openClients(server);
  let killed = false;

  async function callUntilKilled(create: Create): Promise<void> {
    while (!killed) {
      const plant = plantOf(takeId());
      ledger.unknown.set(plant.id, plant);
      const isConfirmed = await create(plant).catch((error: unknown) => {
        if (killed) return false;
        throw error;
      });
      if (!isConfirmed) return;
      ledger.unknown.delete(plant.id);
      ledger.confirmed.set(plant.id, plant);
      if (ledger.confirmed.size >= killAt && !killed) {
        killed = true;
        server.process.kill("SIGKILL");
      }
    }
  }

  const callers = [clients.rest, clients.grpc].flatMap((create) =>
    Array.from({ length: callersEach }, () => callUntilKilled(create)),
  );
  await within("the kill", Promise.all(callers));
  expect(await within("the end", server.exited)).toEqual({ code: null, signal: "SIGKILL" });
}

async function retryUnknown(server: ChildServer, { confirmed, unknown }: Ledger): Promise<void> {
  using clients = openClients(server);
  const plants = [...unknown.values()];
  const answers = await Promise.all(
    plants.map((plant, index) => (index % 2 === 0 ? clients.rest : clients.grpc)(plant)),
  );
  expect(answers).toEqual(plants.map(() => true));
  for (const plant of plants) confirmed.set(plant.id, plant);
  unknown.clear();
}

function openClients(server: ChildServer): { rest: Create; grpc: Create } & Disposable {
  const agent = new http.Agent({ keepAlive: true });
  const caller = grpcJs.open(server.url);
  return {
    rest: (plant) => createOverRest(server.url, agent, plant),
    async grpc(plant) {
      const outcome = await caller.create(plant);
      if ("ok" in outcome) return true;
      throw new Error(outcome.message);
    },
    [Symbol.dispose]() {
      agent.destroy();
      caller[Symbol.dispose]();
    },
  };
}

/** On kept connections: one of its own for each request would slow the load. */
function createOverRest(url: string, agent: http.Agent, plant: TestPlant): Promise<boolean> {
  const answer = Promise.withResolvers<boolean>();
  const headers = {
    authorization: `Bearer ${knownToken}`,
    "content-type": "application/json",
  };
  const request = http.request(`${url}/plants`, { method: "POST", agent, headers }, (response) => {
    response.resume();
    response.once("error", answer.reject);
    response.once("end", () => {
      if (response.statusCode === 200) answer.resolve(true);
      else answer.reject(new Error(`HTTP ${response.statusCode}`));
    });
  });
  request.once("error", answer.reject);
  request.end(newPlantJson(plant));
  return answer.promise;
}
