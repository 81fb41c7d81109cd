/** The enabled limits and their memory. */
import { createRateLimitMemory, RateLimiter, type RateLimitMemory } from "./rate-limiter.ts";

export interface RateLimits {
  readonly perToken?: RateLimiter | undefined;
  readonly perAddress?: RateLimiter | undefined;
}

/** The memory of a service, shared by its threads. */
export interface RateLimitMemories {
  readonly perToken: RateLimitMemory;
  readonly perAddress: RateLimitMemory;
}

/** Requests per second; 0 is off. */
export interface RateLimitSettings {
  readonly rateLimitPerToken: number;
  readonly rateLimitPerAddress: number;
}

/** @returns undefined if no limit is on. */
export function createRateLimitMemories(
  settings: RateLimitSettings,
): RateLimitMemories | undefined {
  if (settings.rateLimitPerToken === 0 && settings.rateLimitPerAddress === 0) return undefined;
  return { perToken: createRateLimitMemory(), perAddress: createRateLimitMemory() };
}

/** @param memories The service's, if another thread created them. */
export function createRateLimits(
  settings: RateLimitSettings,
  memories: RateLimitMemories | undefined = createRateLimitMemories(settings),
): RateLimits {
  const limiter = (perSecond: number, memory: RateLimitMemory | undefined) =>
    perSecond > 0 && memory !== undefined ? new RateLimiter({ perSecond, memory }) : undefined;
  return {
    perToken: limiter(settings.rateLimitPerToken, memories?.perToken),
    perAddress: limiter(settings.rateLimitPerAddress, memories?.perAddress),
  };
}
