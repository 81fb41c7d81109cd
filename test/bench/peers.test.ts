/**
 * That peers do the work that they are compared for. Those in other languages are tested where the
 * bench has built them.
 */
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { peerPrograms } from "../../bench/peers/build.ts";
import type { Program } from "../../bench/program.ts";
import { axumAndTonic, fastifyDurable, grpcGateway, grpcGo } from "../../bench/programs.ts";
import { token } from "../../bench/requests.ts";
import { startServer } from "../../bench/server-process.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { postPlant } from "../support/plant-request.ts";
import { newPlantJson } from "../support/protocol/message.ts";
import type { PlantInput } from "../support/protocol/protocol.ts";
import { grpcJs } from "../support/protocol/protocols.ts";

/** @returns whether it was created. */
type Create = (url: string, plant: PlantInput, authorization: string) => Promise<boolean>;

const overRest: Create = async (url, plant, authorization) => {
  const { status } = await postPlant(url, {
    headers: { authorization },
    body: newPlantJson(plant),
  });
  return status === 200;
};

const overGrpc: Create = async (url, plant, authorization) => {
  using caller = grpcJs.open(url);
  return "ok" in (await caller.create(plant, { authorization }));
};

const peers: readonly [name: string, Program, Create, isBuilt: boolean][] = [
  ["Fastify", fastifyDurable, overRest, true],
  ["axum", axumAndTonic, overRest, existsSync(peerPrograms.rust)],
  ["tonic", axumAndTonic, overGrpc, existsSync(peerPrograms.rust)],
  ["grpc-gateway", grpcGateway, overRest, existsSync(peerPrograms.go)],
  ["grpc-go", grpcGo, overGrpc, existsSync(peerPrograms.go)],
];

/** In this order, to one server. */
const requests: readonly [what: string, PlantInput, isCreated: boolean, bearer?: string][] = [
  ["a plant", { id: 1n, name: "Basil", tag: "herb" }, true],
  ["the same plant again", { id: 1n, name: "Basil", tag: "herb" }, true],
  ["another name under its id", { id: 1n, name: "Mint", tag: "herb" }, false],
  ["another tag under its id", { id: 1n, name: "Basil" }, false],
  ["a plant without a tag", { id: 2n, name: "Basil" }, true],
  ["the same without a tag", { id: 2n, name: "Basil" }, true],
  ["an empty tag where there was none", { id: 2n, name: "Basil", tag: "" }, false],
  ["zero and empty", { id: 0n, name: "" }, true],
  ["no id", { name: "Basil" }, false],
  ["no name", { id: 3n }, false],
  ["U+0000", { id: 4n, name: "Ba\0sil" }, false],
  ["another token", { id: 5n, name: "Basil" }, false, "another"],
];

describe.each(peers)("%s", (_name, program, create, isBuilt) => {
  test.skipIf(!isBuilt)("creates what is right and new, and keeps it", async () => {
    await using folder = await createTemporaryFolder();
    const start = await program.open(folder.path);
    await using server = await startServer(start);
    const outcomes: [string, boolean][] = [];
    for (const [what, plant, , bearer = token] of requests) {
      outcomes.push([what, await create(server.url, plant, `Bearer ${bearer}`)]);
    }
    expect(outcomes).toEqual(requests.map(([what, , isCreated]) => [what, isCreated]));
    await server.stop();
    expect(await start.store?.countPlants()).toBe(3);
  });
});
