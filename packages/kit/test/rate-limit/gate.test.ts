import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { peerAddressKey } from "connect-gateway";
import { expect, test } from "vitest";
import { principalKey } from "../../src/auth/verifier.ts";
import { limitRates } from "../../src/rate-limit/gate.ts";

const gate = async ({ values }: Pick<HandlerContext, "values">) =>
  void values.set(principalKey, { kind: "token", name: "a" });

const off = { rateLimitPerToken: 0, rateLimitPerAddress: 0 };

test.each([
  ["rateLimitPerToken", 250],
  ["rateLimitPerToken", 1],
  ["rateLimitPerAddress", 250],
] as const)("%s %d lets as many in", async (name, perSecond) => {
  const { requestGate, admit } = limitRates(gate, { ...off, [name]: perSecond }, () => 1000);
  const values = createContextValues().set(peerAddressKey, "192.0.2.1");
  const context = { values, responseHeader: new Headers() } as HandlerContext;
  const ask = async () => {
    await requestGate(context);
    admit?.(context);
  };
  for (let i = 0; i < perSecond; i++) await ask();
  const message = expect.stringContaining(`the limit is ${perSecond} per second`);
  // More nanoseconds are no valid Duration.
  const details = [{ value: { retryDelay: { nanos: expect.toSatisfy((n) => n < 1e9) } } }];
  await expect(ask()).rejects.toMatchObject({ message, details });
});
