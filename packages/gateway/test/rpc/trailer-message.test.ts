/**
 * Messages in trailers: HTTP/2 limits their length, and a status that is too long never arrives.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { expect, test } from "vitest";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { openFields } from "../support/echo.ts";
import { envelope } from "../support/envelope.ts";

const empty = envelope(new Uint8Array(0));

async function fail(message: string, headers: object = {}, own = {}, body = empty) {
  const details = [{ desc: BadRequestSchema, value: {} }];
  const error = new ConnectError(message, Code.Aborted, { "x-kept": "yes" }, details);
  await using gateway = await openFields({ echo: () => Promise.reject(Object.assign(error, own)) });
  const { headers: trailers } = await gateway.send({
    version: "2",
    path: `/${FieldService.typeName}/Echo`,
    headers: { "content-type": "application/grpc", ...headers },
    body,
  });
  const sent = trailers.get("grpc-message");
  return { error: findTrailerError(trailers), kept: trailers.get("x-kept"), sent };
}

test.each([
  ["4,096 letters", "x".repeat(4096), "x".repeat(4096)],
  ["4,097 letters", "x".repeat(4097), `${"x".repeat(4096)}…`],
  ["683 letters of two bytes", "é".repeat(683), `${"é".repeat(682)}…`],
  ["20,000 characters beside the BMP", "🌱".repeat(20_000), `${"🌱".repeat(341)}…`],
])("a message of %s arrives, as far as there is room", async (_what, message, arrived) => {
  const { error, kept } = await fail(message);
  expect(error).toMatchObject({ rawMessage: arrived, code: Code.Aborted });
  expect(error?.findDetails(BadRequestSchema)).toHaveLength(1);
  expect(kept).toBe("yes");
  // The headers of another service's error are not ours to forward.
  expect((await fail(message, {}, { isWireError: true })).kept).toBeNull();
  const connect = { "content-type": "application/proto" };
  for (const isWireError of [false, true]) {
    const { kept } = await fail(message, connect, { isWireError }, Buffer.alloc(0));
    expect(kept).toBe(isWireError ? null : "yes");
  }
});

test("a message is encoded only where it must be: grpc-js decodes no other signs", async () => {
  const { error, sent } = await fail(' a, b: c/d? "100 %" é\n🌱 ');
  expect(error?.rawMessage).toBe(' a, b: c/d? "100 %" é\n🌱 ');
  expect(sent).toBe('%20a, b: c/d? "100 %25" %C3%A9%0A%F0%9F%8C%B1%20');
});

test("a message that quotes a long header arrives", async () => {
  const { error } = await fail("", { "grpc-timeout": "é".repeat(12_000) });
  expect(error?.code).toBe(Code.InvalidArgument);
});

test.each([0, 99])("an error is UNKNOWN if its code is %d, which none is", async (code) => {
  const { error } = await fail("", {}, { code });
  expect(error?.code).toBe(Code.Unknown);
});
