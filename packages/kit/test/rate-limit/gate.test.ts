import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { peerAddressKey } from "connect-gateway";
import { describe, expect, test } from "vitest";
import type { createBearerGate } from "../../src/auth/bearer.ts";
import { principalKey } from "../../src/auth/verifier.ts";
import { limitRates } from "../../src/rate-limit/gate.ts";

const principal = { kind: "token", name: "a" } as const;

const gates: Record<"at once" | "later", ReturnType<typeof createBearerGate>> = {
  "at once": ({ values }) => void values.set(principalKey, principal),
  later: ({ values }) => Promise.resolve().then(() => void values.set(principalKey, principal)),
};

const off = { rateLimitPerToken: 0, rateLimitPerAddress: 0 };
const now = () => 1000;

function contextFrom(address: string) {
  const values = createContextValues().set(peerAddressKey, address);
  return { values, responseHeader: new Headers() } as Partial<HandlerContext> as HandlerContext;
}

describe("rate limits", () => {
  test.each([
    ["at once", "rateLimitPerToken", 250],
    ["later", "rateLimitPerToken", 1],
    ["at once", "rateLimitPerAddress", 250],
  ] as const)("of a gate that lets in %s, %s %d, let as many in", async (when, name, perSecond) => {
    const limited = limitRates(gates[when], { ...off, [name]: perSecond }, now);
    const ask = async () => limited(contextFrom("192.0.2.1"));
    for (let i = 0; i < perSecond; i++) await ask();
    const message = expect.stringContaining(`the limit is ${perSecond} per second`);
    // More nanoseconds are no valid Duration.
    const details = [{ value: { retryDelay: { nanos: expect.toSatisfy((n) => n < 1e9) } } }];
    await expect(ask()).rejects.toMatchObject({ message, details });
  });

  test.each([
    ["192.0.2.1", "192.0.2.1", false],
    ["192.0.2.1", "192.0.2.2", true],
    ["192.0.2.1", "::ffff:192.0.2.1", false],
    ["2001:db8::1", "2001:db8::2", false],
    ["2001:db8::1", "2001:db8:0:1::1", true],
  ])("per address: after %s, %s", async (first, second, isLetIn) => {
    const limited = limitRates(() => {}, { ...off, rateLimitPerAddress: 1 }, now);
    await limited(contextFrom(first));
    const attempt = expect((async () => limited(contextFrom(second)))());
    if (isLetIn) await attempt.resolves.toBeUndefined();
    else await attempt.rejects.toThrow(/this address/);
  });
});
