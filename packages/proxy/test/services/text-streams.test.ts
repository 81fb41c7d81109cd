/** gRPC-Web-text through a proxy. */
import { expect, test } from "vitest";
import { FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { versions } from "../../../gateway/test/support/catalog.ts";
import { parseEnvelopes } from "../../../gateway/test/support/envelope.ts";
import { callRepeat, collect } from "../../../gateway/test/support/text-stream.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openProxyOf } from "./open-proxy.ts";

test.each(versions)("over HTTP/%s, a message comes before the next is there", async (version) => {
  const taken = Promise.withResolvers<void>();
  await using proxy = await openProxyOf((router) =>
    router.service(FieldService, {
      async *repeat() {
        yield { string: "one" };
        await taken.promise;
      },
    }),
  );
  const pieces = callRepeat(proxy.origin(version), version);
  const { value: first } = await within("the first message", pieces.next());
  expect(parseEnvelopes(first as Buffer)).toMatchObject([{ flags: 0 }]);
  taken.resolve();
  const rest = await within("the end", collect(pieces));
  expect(parseEnvelopes(rest).at(-1)?.message.toString()).toContain("grpc-status: 0");
});
