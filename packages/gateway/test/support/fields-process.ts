/** A service whose messages have fields of every kind. It answers what it is sent. */
import { addReflection } from "connect-gateway/reflection";
import { serve } from "connect-gateway/server";
import { FieldService } from "../gen/library/v1/fields_pb.ts";

const { address } = await serve({
  ...{ host: "127.0.0.1", port: 0 },
  routes(router) {
    router.service(FieldService, {
      echo: (message) => message,
      async *exchange(messages) {
        yield* messages;
      },
    });
    addReflection(router, { services: [FieldService] });
  },
});
process.stdout.write(`listening on http://127.0.0.1:${address.port}\n`);
