/** A revoked token stops working: for every protocol, on connections that are open. */
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { createToken, revokeToken } from "connect-gateway-kit/auth/token-file";
import { expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
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
  await expect.poll(() => ask(ada), { interval: 20 }).not.toContain("in");
  for (let n = 0; n < 5; n++) expect(await ask(ada)).toEqual(all(Code.Unauthenticated));
  expect(await ask(bob)).toEqual(all("in"));

  const again = await createToken(tokenFile, "ada", "plst_");
  await expect.poll(() => ask(again), { interval: 20 }).toEqual(all("in"));
  expect(await ask(ada)).toEqual(all(Code.Unauthenticated));
});
