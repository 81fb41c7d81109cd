/**
 * Well-behaved clients on a separate thread, so that they wait only for the server and not for the
 * attackers' event loop.
 */
import { once } from "node:events";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { openCallers } from "../load/caller.ts";
import { createClients, openLoad } from "../load/load.ts";

export interface WitnessSetup {
  readonly url: string;
  readonly seed: number;
}

/** A client's pause between two requests: it is a witness, not another flood. */
const pauseMs = 15;
/** Sent to the server. Long, because no request of a well-behaved client may fail. */
const deadlinesMs = [8000, 10_000] as const;

const { url, seed } = workerData as WitnessSetup;
const port = parentPort as MessagePort;
const clients = createClients({ count: 3, seed, deadlinesMs });
using callers = openCallers([url]);
const load = openLoad(clients, callers, pauseMs);
await once(port, "message");
await load.stop();
port.postMessage(clients.recorder.requests);
