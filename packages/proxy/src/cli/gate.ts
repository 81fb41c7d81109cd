import type { Authenticator } from "../auth/authenticator.ts";
import { createBearerGate } from "../auth/bearer.ts";
import type { Gate } from "../auth/gate.ts";
import { limitRates } from "../rate-limit/gate.ts";
import type { Settings } from "./settings.ts";

/** Checks rate limits and tokens before a body is read; undefined where neither is set. */
export function createGate(
  settings: Settings,
  authenticator: Authenticator | undefined,
): Gate | undefined {
  if (authenticator === undefined && settings.rateLimitPerAddress === 0) return undefined;
  const gate = authenticator && createBearerGate(authenticator.verifiers, "connect-gateway-proxy");
  return limitRates(gate ?? admit, settings);
}

function admit(): void {}
