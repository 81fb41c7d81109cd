/** An aborted RPC stream never ends as a success, whatever its implementation does then. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { CatalogService } from "../support/catalog.ts";
import { openGateway } from "../support/gateway.ts";
import { openProtocols } from "../support/open-client.ts";
import { within } from "../support/within.ts";

describe.each(openProtocols)("over $name", ({ open, version }) => {
  test("an implementation that returns after a shutdown ends with an error", async () => {
    const shutdown = new AbortController();
    await using gateway = await openGateway({
      shutdownSignal: shutdown.signal,
      routes: (router) =>
        router.service(CatalogService, {
          async *watchVolumes(_, { signal }) {
            yield { id: 1n };
            if (!signal.aborted)
              await new Promise((resolve) => signal.addEventListener("abort", resolve));
          },
        }),
    });
    using catalog = open(CatalogService, gateway.origin(version));
    let read = 0;
    const reading = (async () => {
      for await (const _ of catalog.client.watchVolumes({})) {
        read++;
        shutdown.abort(new ConnectError("the server is shutting down", Code.Unavailable));
      }
    })();
    await expect(within("the end", reading)).rejects.toMatchObject({ code: Code.Unavailable });
    expect(read).toBe(1);
  });
});
