/** Creates a plant at its end of a shared store, closes the end, and has nothing else to do. */
import { parentPort, workerData } from "node:worker_threads";
import { joinStore } from "../../src/store/open.ts";
import { plantOf } from "./plant-of.ts";

const store = joinStore(workerData, { obstacle: () => undefined });
const tell = (message: string) => parentPort?.postMessage(message);
void store.create(plantOf(1n)).then(() => tell("created"));
void store.close().then(() => tell("closed"));
tell("closing");
