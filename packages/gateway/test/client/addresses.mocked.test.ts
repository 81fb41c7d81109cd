/** A name with two addresses, one of whose servers dies. */
import { setImmediate } from "node:timers/promises";
import { createClient } from "@connectrpc/connect";
import { test, vi } from "vitest";
import { openGrpcTransport } from "../../src/client/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { within } from "../support/within.ts";
import { answerOk, openFakeServer } from "./fake-server.ts";
import { openFront } from "./front.ts";

const addresses = ["127.0.0.1", "127.0.0.2"] as const;

vi.mock("node:dns/promises", () => ({
  lookup: async () => addresses.map((address) => ({ address, family: 4 })),
}));

// Other systems have no such addresses by themselves.
test.skipIf(process.platform !== "linux")("calls go to the other", async () => {
  const quietMsMax = 100;
  await using fake = await openFakeServer(answerOk);
  const behind = Number(new URL(fake.url).port);
  await using first = await openFront(behind, { host: addresses[0] });
  await using dying = await openFront(behind, { host: addresses[1], port: first.port });
  const transport = openGrpcTransport({ url: `http://library.test:${first.port}`, quietMsMax });
  const { getVolume } = createClient(CatalogService, transport);
  const call = async () => {
    // A call that fails at once must leave the others their turn.
    await setImmediate();
    return getVolume({ name: "shelves/a/volumes/1" }, { timeoutMs: 200 }).then(
      () => true,
      () => false,
    );
  };
  const untilBothAreUsed = async () => {
    while (dying.connections === 0) await call();
  };
  await within("calls by both addresses", untilBothAreUsed());
  dying.silence();
  const allGoWell = async () => {
    for (let inTurn = 0; inTurn < 20; ) inTurn = (await call()) ? inTurn + 1 : 0;
  };
  await within("twenty answers in turn", allGoWell());
  transport.close();
});
