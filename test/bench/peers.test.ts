/** That peers do the work that they are compared for. Those in other languages are tested where the bench has built them. */
import { existsSync } from "node:fs";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { peerPrograms } from "../../bench/peers/build.ts";
import type { Program } from "../../bench/program.ts";
import { axumAndTonic, fastifyDurable, grpcGateway, grpcGo } from "../../bench/programs.ts";
import { token } from "../../bench/requests.ts";
import { startServer } from "../../bench/server-process.ts";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";

type NewPlant = Readonly<{ id?: number; name?: string; tag?: string }>;

/** @returns whether it was created. */
type Create = (url: string, plant: NewPlant, bearer: string) => Promise<boolean>;

const overRest: Create = async (url, plant, bearer) => {
  const { ok } = await fetch(`${url}/plants`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify(plant),
  });
  return ok;
};

const overGrpc: Create = (url, { id, ...texts }, bearer) => {
  const client = createClient(PlantService, createGrpcTransport({ baseUrl: url }));
  const plant = id === undefined ? texts : { ...texts, id: BigInt(id) };
  const headers = { authorization: `Bearer ${bearer}` };
  return client.createPlant({ plant }, { headers }).then(
    () => true,
    () => false,
  );
};

const peers: readonly [name: string, Program, Create, isBuilt: boolean][] = [
  ["Fastify", fastifyDurable, overRest, true],
  ["axum", axumAndTonic, overRest, existsSync(peerPrograms.rust)],
  ["tonic", axumAndTonic, overGrpc, existsSync(peerPrograms.rust)],
  ["grpc-gateway", grpcGateway, overRest, existsSync(peerPrograms.go)],
  ["grpc-go", grpcGo, overGrpc, existsSync(peerPrograms.go)],
];

/** In this order, to one server. */
const requests: readonly [what: string, NewPlant, isCreated: boolean, bearer?: string][] = [
  ["a plant", { id: 1, name: "Basil", tag: "herb" }, true],
  ["the same plant again", { id: 1, name: "Basil", tag: "herb" }, true],
  ["another name under its id", { id: 1, name: "Mint", tag: "herb" }, false],
  ["another tag under its id", { id: 1, name: "Basil" }, false],
  ["a plant without a tag", { id: 2, name: "Basil" }, true],
  ["the same without a tag", { id: 2, name: "Basil" }, true],
  ["an empty tag where there was none", { id: 2, name: "Basil", tag: "" }, false],
  ["zero and empty", { id: 0, name: "" }, true],
  ["no id", { name: "Basil" }, false],
  ["no name", { id: 3 }, false],
  ["U+0000", { id: 4, name: "Ba\0sil" }, false],
  ["another token", { id: 5, name: "Basil" }, false, "another"],
];

describe.each(peers)("%s", (_name, program, create, isBuilt) => {
  test.skipIf(!isBuilt)("creates what is right and new, and keeps it", async () => {
    await using folder = await createTemporaryFolder();
    const start = await program.open(folder.path);
    await using server = await startServer(start);
    const outcomes: [string, boolean][] = [];
    for (const [what, plant, , bearer = token] of requests) {
      outcomes.push([what, await create(server.url, plant, bearer)]);
    }
    expect(outcomes).toEqual(requests.map(([what, , isCreated]) => [what, isCreated]));
    await server.stop();
    expect(await start.store?.countPlants()).toBe(3);
  });
});
