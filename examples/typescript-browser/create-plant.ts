/** Creates a plant over gRPC-Web, and shows what a caller has to be ready for. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
} from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { BadRequestSchema } from "./gen/google/rpc/error_details_pb.ts";
import {
  type NewPlantSchema,
  type Plant,
  PlantService,
} from "./gen/plantstore/v1/plant_service_pb.ts";

export interface Store {
  /** Where the store is, seen from the page: its own origin, if a proxy stands before both. */
  readonly baseUrl: string;
  readonly token: string;
}

export interface Output {
  print(line: string): void;
  note(line: string): void;
}

type NewPlant = MessageInitShape<typeof NewPlantSchema>;
type PlantClient = Client<typeof PlantService>;

const attemptTimeoutMs = 2000;
const totalTimeoutMs = 20_000;
const firstBackoffMs = 100;

export async function showCalls({ baseUrl, token }: Store, { print, note }: Output): Promise<void> {
  const bearer: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${token}`);
    return next(request);
  };
  const transport = createGrpcWebTransport({ baseUrl, interceptors: [bearer] });
  const client = createClient(PlantService, transport);

  // Any int64 is an id: this one is not a double, so ids are bigint.
  const basil: NewPlant = { id: 9007199254740993n, name: "Basil", tag: "herb" };
  // The same call again is safe: it has the same answer, and there is one plant.
  for (const label of ["created", "again"]) {
    const plant = await createPlant(client, basil, note);
    print(`${label}: ${plant?.name} (${plant?.tag})`);
  }

  const mint = { ...basil, name: "Mint" };
  const taken = await errorOf(createPlant(client, mint, note), Code.AlreadyExists);
  print(`taken: ${taken.rawMessage}`);

  const { name: _, ...nameless } = basil;
  const refused = await errorOf(createPlant(client, nameless, note), Code.InvalidArgument);
  for (const { fieldViolations } of refused.findDetails(BadRequestSchema)) {
    for (const { field, description } of fieldViolations) {
      print(`refused: ${field} ${description}`);
    }
  }
}

/**
 * Creates a plant, and tries again while that may help. A lost answer leaves it
 * open whether the plant was stored; the next attempt settles it.
 */
async function createPlant(
  client: PlantClient,
  plant: NewPlant,
  note: Output["note"],
): Promise<Plant | undefined> {
  const end = performance.now() + totalTimeoutMs;
  for (let backoffMs = firstBackoffMs; ; backoffMs *= 2) {
    // At least 1, as less is none. The server keeps the deadline, too.
    const timeoutMs = Math.ceil(Math.max(1, Math.min(attemptTimeoutMs, end - performance.now())));
    try {
      return (await client.createPlant({ plant }, { timeoutMs })).plant;
    } catch (error) {
      const { code } = ConnectError.from(error);
      const pauseMs = Math.random() * backoffMs;
      if (!mayPass(code) || performance.now() + pauseMs >= end) throw error;
      note(`${Code[code]}, trying again in ${pauseMs.toFixed()} ms`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** A connection that broke is Unknown: `fetch` does not tell a page why it failed. */
function mayPass(code: Code): boolean {
  return code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.Unknown;
}

async function errorOf(call: Promise<unknown>, code: Code): Promise<ConnectError> {
  const error = await call.then(
    () => new Error("the call succeeded"),
    (reason: unknown) => ConnectError.from(reason),
  );
  if (error instanceof ConnectError && error.code === code) return error;
  throw error;
}
