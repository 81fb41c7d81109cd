/**
 * A separate program, because the tested error might end it: a gateway whose renderError throws.
 * Prints the status of an answer to a REST error, and to one that occurs before a route is known.
 */

import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { openGateway } from "./gateway.ts";
import { createTestLibrary } from "./library.ts";

await using gateway = await openGateway({
  mayFail: true,
  rest: {
    renderError: () => {
      throw new Error("renderError is broken");
    },
  },
  routes: (router) => router.service(LibraryService, createTestLibrary()),
});
for (const path of ["/v1/library?unknown", "/elsewhere"]) {
  const { status } = await gateway.send({ method: "GET", path });
  process.stdout.write(`${status}\n`);
}
