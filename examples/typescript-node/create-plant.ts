/** Creates a plant over gRPC, and shows what a caller has to be ready for. */
import { setTimeout } from "node:timers/promises";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
} from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { BadRequestSchema } from "./gen/google/rpc/error_details_pb.ts";
import {
  type NewPlantSchema,
  type Plant,
  PlantService,
} from "./gen/plantstore/v1/plant_service_pb.ts";

type NewPlant = MessageInitShape<typeof NewPlantSchema>;

const attemptTimeoutMs = 2000;
const totalTimeoutMs = 20_000;
const firstBackoffMs = 100;

const { PLANT_STORE_URL: baseUrl = "", PLANT_STORE_TOKEN: token } = process.env;

const bearer: Interceptor = (next) => (request) => {
  request.header.set("authorization", `Bearer ${token}`);
  return next(request);
};
const client = createClient(
  PlantService,
  createGrpcTransport({ baseUrl, interceptors: [bearer], idleConnectionTimeoutMs: 1000 }),
);

// Any int64 is an id: this one is not a double, so ids are bigint.
const basil: NewPlant = { id: 9007199254740993n, name: "Basil", tag: "herb" };
// The same call again is safe: it has the same answer, and there is one plant.
for (const label of ["created", "again"]) {
  const plant = await createPlant(client, basil);
  console.log(`${label}: ${plant?.name} (${plant?.tag})`);
}

const taken = await errorOf(createPlant(client, { ...basil, name: "Mint" }), Code.AlreadyExists);
console.log(`taken: ${taken.rawMessage}`);

const { name: _, ...nameless } = basil;
const refused = await errorOf(createPlant(client, nameless), Code.InvalidArgument);
for (const { fieldViolations } of refused.findDetails(BadRequestSchema)) {
  for (const { field, description } of fieldViolations) {
    console.log(`refused: ${field} ${description}`);
  }
}

/**
 * Creates a plant, and tries again while that may help. A lost answer leaves it
 * open whether the plant was stored; the next attempt settles it.
 */
async function createPlant(
  store: Client<typeof PlantService>,
  plant: NewPlant,
): Promise<Plant | undefined> {
  const end = performance.now() + totalTimeoutMs;
  for (let backoffMs = firstBackoffMs; ; backoffMs *= 2) {
    // At least 1, as less is none. The server keeps the deadline, too.
    const timeoutMs = Math.ceil(Math.max(1, Math.min(attemptTimeoutMs, end - performance.now())));
    try {
      return (await store.createPlant({ plant }, { timeoutMs })).plant;
    } catch (error) {
      const { code } = ConnectError.from(error);
      const pauseMs = Math.random() * backoffMs;
      if (!mayPass(code) || performance.now() + pauseMs >= end) throw error;
      console.error(`${Code[code]}, trying again in ${pauseMs.toFixed()} ms`);
      await setTimeout(pauseMs);
    }
  }
}

/** A connection that broke is Canceled: so Node ends its streams. Nothing here cancels a call. */
function mayPass(code: Code): boolean {
  return [Code.Unavailable, Code.DeadlineExceeded, Code.Canceled].includes(code);
}

async function errorOf(call: Promise<unknown>, code: Code): Promise<ConnectError> {
  const error = await call.then(
    () => new Error("the call succeeded"),
    (reason: unknown) => ConnectError.from(reason),
  );
  if (error instanceof ConnectError && error.code === code) return error;
  throw error;
}
