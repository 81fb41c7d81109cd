/** gRPC-Web-text, the only mode in which Google's client for browsers takes streams. */
import { buffer } from "node:stream/consumers";
import { fromBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { versions } from "../support/catalog.ts";
import { parseEnvelopes } from "../support/envelope.ts";
import { openGateway } from "../support/gateway.ts";
import { callRepeat } from "../support/text-stream.ts";
import { within } from "../support/within.ts";

const trailers = 0x80;

function openFields(repeat: ServiceImpl<typeof FieldService>["repeat"]) {
  return openGateway({ routes: (router) => router.service(FieldService, { repeat }) });
}

describe.each(versions)("a stream of gRPC-Web-text over HTTP/%s", (version) => {
  test("has each message at once, in whole groups, and its trailers last", async () => {
    const taken = Promise.withResolvers<void>();
    await using gateway = await openFields(async function* () {
      yield { string: "one" };
      await taken.promise;
      yield { string: "three" };
    });
    const pieces = callRepeat(gateway.origin(version), version);
    const { value: first } = await within("the first message", pieces.next());
    const [one] = parseEnvelopes(first as Buffer);
    expect(fromBinary(EveryFieldSchema, one?.message ?? Buffer.of())).toMatchObject({
      string: "one",
    });
    taken.resolve();
    const rest = parseEnvelopes(await within("the end", buffer(pieces)));
    expect(rest.map(({ flags }) => flags)).toEqual([0, trailers]);
    expect(rest[1]?.message.toString()).toContain("grpc-status: 0");
  });

  test("ends with the status of an error behind its messages", async () => {
    await using gateway = await openFields(async function* () {
      yield {};
      throw new ConnectError("so far", Code.Aborted);
    });
    const body = await buffer(callRepeat(gateway.origin(version), version));
    const last = parseEnvelopes(body).at(-1);
    expect(last?.flags).toBe(trailers);
    expect(last?.message.toString()).toMatch(/grpc-message: so far\r\ngrpc-status: 10\r\n/);
  });
});
