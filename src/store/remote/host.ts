import type { MessagePort } from "node:worker_threads";
import { type NewPlant, PlantError, type PlantStore } from "../../plant.ts";
import { fromColumns } from "../plant-columns.ts";
import type { Failure, Reply, Request } from "./messages.ts";

/**
 * Lets another thread use a store, through the other end of the port. When that
 * end closes, by itself or because its thread has died, its callers have left.
 */
export function hostStore(store: PlantStore, port: MessagePort): void {
  const callers = new Map<number, AbortController>();
  let created: number[] = [];
  let failed: Failure[] = [];

  port.on("message", ({ first, plants, left }: Request) => {
    let number = first;
    for (const plant of fromColumns(plants)) void create(number++, plant);
    for (const gone of left) callers.get(gone)?.abort();
  });
  port.once("close", () => {
    for (const caller of callers.values()) caller.abort();
  });

  async function create(number: number, plant: NewPlant): Promise<void> {
    const caller = new AbortController();
    callers.set(number, caller);
    try {
      await store.create(plant, caller.signal);
      reply(() => created.push(number));
    } catch (error) {
      if (!caller.signal.aborted) reply(() => failed.push({ number, reason: describe(error) }));
    }
    callers.delete(number);
  }

  /** Outcomes of one commit come in one turn of the event loop, and leave in one message. */
  function reply(add: () => void): void {
    if (created.length === 0 && failed.length === 0) setImmediate(send);
    add();
  }

  function send(): void {
    port.postMessage({ created, failed } satisfies Reply);
    created = [];
    failed = [];
  }
}

function describe(error: unknown): Failure["reason"] {
  if (!(error instanceof PlantError)) return { kind: "unknown", error };
  const { code, message, field, cause } = error;
  return { kind: "plant_error", code, message, field, cause };
}
