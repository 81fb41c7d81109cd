/** A revoked token stops working: for every protocol, on connections that are open. */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { createToken, revokeToken } from "connect-gateway-proxy/auth";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { connectClients } from "../support/protocol/connect-clients.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { openTestServer } from "../support/test-server.ts";

test("a token that is in use everywhere is over everywhere once it is revoked", async () => {
  await using folder = await createTemporaryFolder();
  const tokenFile = join(folder.path, "tokens");
  const ada = await createToken(tokenFile, "ada", "plst_");
  const bob = await createToken(tokenFile, "bob", "plst_");
  await using server = await openTestServer({ auth: { tokenFile } });
  using stack = new DisposableStack();
  const callers = protocols.map(({ open }) => stack.use(open(server.url)));
  const plants = callers.map((_, index) => ({ id: BigInt(index), name: "Basil" }));

  /** What each caller is told: nothing but that the plant is there, or a code. */
  const ask = (token: string) =>
    Promise.all(
      callers.map(async (caller, index) => {
        const plant = plants[index] ?? {};
        const outcome = await caller.create(plant, { authorization: `Bearer ${token}` });
        return "ok" in outcome ? "in" : outcome.code;
      }),
    );
  const all = (answer: unknown) => callers.map(() => answer);

  expect(await ask(ada)).toEqual(all("in"));
  expect(await ask(bob)).toEqual(all("in"));
  await revokeToken(tokenFile, "ada");
  const untilOver = async () => {
    while ((await ask(ada)).includes("in")) await delay(20);
  };
  await within("the end of the token", untilOver());
  for (let n = 0; n < 5; n++) expect(await ask(ada)).toEqual(all(Code.Unauthenticated));
  expect(await ask(bob)).toEqual(all("in"));

  const again = await createToken(tokenFile, "ada", "plst_");
  const untilIn = async () => {
    while ((await ask(again)).includes(Code.Unauthenticated)) await delay(20);
  };
  await within("the new token of that name", untilIn());
  expect(await ask(ada)).toEqual(all(Code.Unauthenticated));
});

test("no call that begins half a second after it is let in, however many its owner makes", async () => {
  await using folder = await createTemporaryFolder();
  const tokenFile = join(folder.path, "tokens");
  const authorization = `Bearer ${await createToken(tokenFile, "ada", "plst_")}`;
  await using server = await openTestServer({ auth: { tokenFile } });
  using stack = new DisposableStack();
  const callers = connectClients.map(({ open }) => stack.use(open(server.url)));
  let stopAt = Number.POSITIVE_INFINITY;
  const begunAt: Record<"in" | "refused", number[]> = { in: [], refused: [] };
  const flooded = Promise.withResolvers<void>();
  const flood = callers.flatMap((caller, id) =>
    Array.from({ length: 50 }, async () => {
      while (performance.now() < stopAt) {
        const start = performance.now();
        const outcome = await caller.create({ id: BigInt(id), name: "Basil" }, { authorization });
        begunAt["ok" in outcome ? "in" : "refused"].push(start);
        if (begunAt.in.length === 500) flooded.resolve();
      }
    }),
  );
  await within("the flood", flooded.promise);
  await revokeToken(tokenFile, "ada");
  const revokedAt = performance.now();
  stopAt = revokedAt + 1500;
  await Promise.all(flood);
  expect(Math.max(...begunAt.in)).toBeLessThan(revokedAt + 500);
  expect(Math.max(...begunAt.refused)).toBeGreaterThan(revokedAt + 500);
});
