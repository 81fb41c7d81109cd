import { once } from "node:events";
import process from "node:process";
import { serve } from "connect-gateway/server";
import { CatalogService } from "../../gen/library/v1/catalog_pb.ts";
import { createCatalog, tell } from "./catalog.ts";

const server = await serve({
  host: "127.0.0.1",
  port: 0,
  routes: (router, { draining }) => {
    router.service(CatalogService, {
      ...createCatalog(),
      /** Ends when the server does. */
      async *streamVolume() {
        yield { contentType: "text/plain", data: new TextEncoder().encode("begun ") };
        if (!draining.aborted) await once(draining, "abort");
        yield { contentType: "text/plain", data: new TextEncoder().encode("ended") };
      },
    });
  },
});
process.once("SIGTERM", () => void server.drain(5000));
tell(`listening on ${server.address.port}`);
