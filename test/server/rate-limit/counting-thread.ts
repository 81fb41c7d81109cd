/** Takes requests of one key while another thread does; the clock stands still. */
import { parentPort, workerData } from "node:worker_threads";
import { RateLimiter, type RateLimitMemory } from "../../../src/server/rate-limit/rate-limiter.ts";

export interface Counting {
  readonly memory: RateLimitMemory;
  readonly perSecond: number;
  readonly requests: number;
}

const { requests, ...options } = workerData as Counting;
const limiter = new RateLimiter({ ...options, now: () => 86_400 });

parentPort?.once("message", () => {
  let taken = 0;
  for (let i = 0; i < requests; i++) if (limiter.take("a") === 0) taken++;
  parentPort?.postMessage(taken);
});
parentPort?.postMessage("ready");
