import { setTimeout as delay } from "node:timers/promises";
import { within } from "../../packages/gateway/test/support/within.ts";
import type { Obstacle, PlantStore } from "../../src/plant.ts";

/** Waits until the store has detected an obstacle, or its end. */
export async function untilObstacle(
  store: PlantStore,
  obstacle: Obstacle | undefined,
): Promise<void> {
  const found = async () => {
    while (store.obstacle() !== obstacle) await delay(5);
  };
  await within(`the obstacle ${obstacle}`, found(), 20_000);
}
