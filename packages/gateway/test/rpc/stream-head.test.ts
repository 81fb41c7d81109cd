/** The head of a stream leaves before its first message: clients may wait for it. */
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { sendHeaders } from "../../src/index.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import { openGateway } from "../support/gateway.ts";
import { within } from "../support/within.ts";

const types = ["application/connect+proto", "application/grpc-web+proto", "application/grpc"];

describe.each([
  ["at once, if the implementation says so", true],
  ["soon, without a word of the implementation", false],
])("the head of a stream leaves %s", (_what, isSaid) => {
  test.concurrent.each(types)("%s", async (type) => {
    await using gateway = await openGateway({
      routes: (router) => {
        router.service(FieldService, {
          // biome-ignore lint/correctness/useYield: it answers nothing
          async *repeat(_message, context) {
            context.responseHeader.set("x-head", "1");
            if (isSaid) sendHeaders(context);
            if (!context.signal.aborted) await once(context.signal, "abort");
          },
        });
      },
    });
    const client = new AbortController();
    const asked = fetch(`${gateway.origin("1.1")}/library.v1.FieldService/Repeat`, {
      method: "POST",
      headers: { "content-type": type },
      body: new Uint8Array(envelope("")),
      signal: client.signal,
    });
    const { status, headers } = await within("the head", asked);
    expect(status).toBe(200);
    expect(headers.get("x-head")).toBe("1");
    client.abort();
  });
});
