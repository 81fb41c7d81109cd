/** Clients that are refused amid a large body, and leave. */
import { beforeAll, expect, test } from "vitest";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { sqliteKind } from "../../support/store-place.ts";
import { createRandom } from "../random.ts";
import { startServer, usageOf } from "../server.ts";
import { departures } from "./floods/excess.ts";

let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  const stack = new AsyncDisposableStack();
  const place = stack.use(await sqliteKind.open());
  const cwd = stack.use(await createTemporaryFolder()).path;
  server = stack.use(await startServer({ cwd, args: ["--store", place.url], env: {} }));
  return () => stack.disposeAsync();
});

async function depart() {
  const random = createRandom(1, "departures");
  const { url, port } = server;
  return await departures.run({ url, port, random, signal: new AbortController().signal });
}

test.skipIf(process.platform !== "linux")("nothing of their connections stays open", async () => {
  const files = () => usageOf(server)?.files ?? Number.NaN;
  const before = files();
  for (let round = 0; round < 3; round++) await depart();
  await expect.poll(files).toBeLessThan(before + 8);
});

test("each of their calls has an end", async () => {
  expect(await depart()).toMatchObject({ found: [] });
});
