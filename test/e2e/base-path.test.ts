/** "The path is relative to {base_url}", and that may carry a path of its own. */
import { expect, test } from "vitest";
import { postPlant } from "../support/plant-request.ts";
import { createPlantPath } from "../support/protocol/message.ts";
import { protocols } from "../support/protocol/protocols.ts";
import { useTestServer } from "../support/use-test-server.ts";

const basePath = "/a.b/c-d/~e";
const server = useTestServer({ basePath });

test.each(protocols)("$name creates a plant under a base path", async ({ open }) => {
  using caller = open(`${new URL(server.url).origin}${basePath}`);
  expect(await caller.create({ id: 1n, name: "Basil" })).toEqual({ ok: { name: "Basil" } });
});

test.each(["/plants", createPlantPath, `${basePath}plants`, `/x${basePath}/plants`])(
  "nothing is served at %s",
  async (path) => {
    expect((await postPlant(new URL(server.url).origin, { path })).status).toBe(404);
  },
);
