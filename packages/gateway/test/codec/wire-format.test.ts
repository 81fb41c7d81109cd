/** Unusual protobuf is read as by protobuf-es; malformed protobuf is rejected. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createMethodImplSpec } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createCodecs } from "../../src/codec/codec.ts";
import type { EndpointOptions } from "../../src/rpc/endpoint.ts";
import { LabelService, PrintLabelRequestSchema } from "../gen/library/v1/label_pb.ts";

const spec = createMethodImplSpec(LabelService.method.printLabel, (): never => {
  throw new Error("nobody calls it");
});

function parse(bytes: Uint8Array, recursionLimit?: number) {
  const limits = { readMaxBytes: 1000, writeMaxBytes: 1000, binaryOptions: { recursionLimit } };
  return createCodecs(spec.method, limits as EndpointOptions).binary.parse(bytes);
}

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");

// Bytes of a PrintLabelRequest, by its fields: `label` is 1; in it `id` is 1, `name` 2, `tag` 3.

test.each([
  ["a field out of order", "0a 07 120161 0801 1a00"],
  ["a field twice", "0a 08 0801 120161 120162"],
  ["a message twice", "0a 02 0801 0a 03 120161"],
  ["an unknown field", "0a 07 0801 120161 2001"],
  ["a number longer than it need be", "0a 07 08818000 120161"],
  ["a length longer than it need be", "0a 06 0801 12810061"],
  ["a text that begins with U+FEFF", "0a 08 0801 1204efbbbf61"],
])("%s is read", (_what, hex) => {
  expect(parse(bytesOf(hex))).toStrictEqual(fromBinary(PrintLabelRequestSchema, bytesOf(hex)));
});

test.each([
  ["the wire type of another", "0a 0c 090100000000000000 120161"],
  ["a number without an end", "0a 0b 08ffffffffffffffffff"],
  ["a length past the end", "0a 06 0801 12056162"],
  ["a length past its message", "0a 05 0801 120561 62636465"],
  ["a text that is not UTF-8", "0a 05 0801 1201ff"],
  ["half a tag", "80"],
  ["half of a message", "0a 05 0801 12"],
])("%s is rejected", (_what, hex) => {
  expect(() => parse(bytesOf(hex))).toThrow(/parse binary/);
});

test("a custom depth limit is respected", () => {
  const request = create(PrintLabelRequestSchema, { label: { id: 1n, name: "Dune" } });
  const bytes = toBinary(PrintLabelRequestSchema, request);
  expect(parse(bytes, 2)).toStrictEqual(request);
  expect(() => parse(bytes, 1)).toThrow(/parse binary/);
});
