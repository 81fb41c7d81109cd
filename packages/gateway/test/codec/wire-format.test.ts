/** Unusual protobuf is read as by protobuf-es; malformed protobuf is rejected. */
import {
  clone,
  create,
  createFileRegistry,
  type DescMethod,
  fromBinary,
  toBinary,
} from "@bufbuild/protobuf";
import {
  FeatureSet_Utf8Validation,
  FileDescriptorProtoSchema,
  FileOptionsSchema,
} from "@bufbuild/protobuf/wkt";
import { expect, test } from "vitest";
import { createCodecs } from "../../src/codec/codec.ts";
import { writeBinary } from "../../src/codec/wire-format.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { LabelService, PrintLabelRequestSchema } from "../gen/library/v1/label_pb.ts";
import {
  file_openapi_legacy_v1_legacy,
  LegacyService,
} from "../gen/openapi/legacy/v1/legacy_pb.ts";
import { OldSchema, OldService } from "../gen/openapi/old/v1/old_pb.ts";

const parse = (bytes: Uint8Array) => parseAs(LabelService.method.printLabel, bytes);

function parseAs(method: DescMethod, bytes: Uint8Array, binaryOptions = {}) {
  return createCodecs(method, { writeMaxBytes: 1000, binaryOptions }).binary.parse(bytes);
}

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(" ", ""), "hex");

// Bytes of a PrintLabelRequest, by its fields: `label` is 1; in it `id` is 1, `name` 2, `tag` 3.

test.each([
  ["a field out of order", "0a 07 120161 0801 1a00"],
  ["a field twice", "0a 08 0801 120161 120162"],
  ["a message twice", "0a 02 0801 0a 03 120161"],
  ["an unknown field", "0a 07 0801 120161 2001"],
  ["a number longer than it need be", "0a 07 08818000 120161"],
  ["a length longer than it need be", "0a 09 0801 12818080800061"],
  ["a text that begins with U+FEFF", "0a 08 0801 1204efbbbf61"],
])("%s is read", (_what, hex) => {
  expect(parse(bytesOf(hex))).toStrictEqual(fromBinary(PrintLabelRequestSchema, bytesOf(hex)));
});

test.each([
  ["the wire type of another", "0a 0c 090100000000000000 120161"],
  ["a number without an end", "0a 0b 08ffffffffffffffffff"],
  ["a length over 32 bits", "0a 09 0801 12818080801061"],
  ["a length past the end", "0a 06 0801 12056162"],
  ["a length past its message", "0a 05 0801 120561 62636465"],
  ["a text that is not UTF-8", "0a 05 0801 1201ff"],
  ["half a tag", "80"],
])("%s is rejected", (_what, hex) => {
  expect(() => parse(bytesOf(hex))).toThrow(/parse binary/);
});

/** An `Old`, whose proto2 does not ask for UTF-8. */
const old = (hex: string) => bytesOf(`0801 ${hex}`);

test.each([
  ["in a group", "13 0a02c3a9 14"],
  ["in the key of a map", "1a 04 0a02c3a9"],
  ["in the group of a message", "22 08 0801 13 0a02c3a9 14"],
  ["in an unknown group", "4b 0a01e9 4c"],
  ["in a field that is unknown", "4a 01e9"],
  ["in an unknown field of a group", "13 0a00 1201e9 14"],
  ["after a group in a group", "13 0a00 13 0a01e9 14 14 2202 0801"],
])("text of proto2 %s is read", (_what, hex) => {
  const { put } = OldService.method;
  expect(parseAs(put, old(hex))).toStrictEqual(fromBinary(OldSchema, old(hex)));
});

test.each([
  ["in a group", "13 0a01e9 14"],
  ["in the second of two groups", "13 0a00 14 13 0a01e9 14"],
  ["in the key of a map", "1a 03 0a01e9"],
  ["in the group of a message", "22 07 0801 13 0a01e9 14"],
])("text of proto2 that is not UTF-8 %s is rejected", (_what, hex) => {
  expect(() => parseAs(OldService.method.put, old(hex))).toThrow(/parse binary/);
});

test("text of an edition whose files ask for no UTF-8 is rejected, too", () => {
  const { proto, dependencies } = file_openapi_legacy_v1_legacy;
  const loose = clone(FileDescriptorProtoSchema, proto);
  const features = { utf8Validation: FeatureSet_Utf8Validation.NONE };
  loose.options = create(FileOptionsSchema, { features });
  const registry = createFileRegistry(loose, (name) =>
    dependencies.find((one) => one.proto.name === name),
  );
  const keep = registry.getService(LegacyService.typeName)?.method["keep"] as DescMethod;
  expect(parseAs(keep, bytesOf("0a0161"))).toMatchObject({ id: "a" });
  expect(() => parseAs(keep, bytesOf("0a01e9"))).toThrow(/parse binary/);
});

test.each([0, 5000])("a custom depth limit is respected, around a text of %d bytes", (length) => {
  let message = create(EveryFieldSchema, { string: "a".repeat(length) });
  for (let depth = 1; depth < 300; depth++) message = create(EveryFieldSchema, { child: message });
  const bytes = toBinary(EveryFieldSchema, message);
  const read = (recursionLimit: number) =>
    parseAs(FieldService.method.echo, bytes, { recursionLimit });
  expect(read(300)).toStrictEqual(message);
  expect(() => read(299)).toThrow(/parse binary/);
});

const struct = { $typeName: "google.protobuf.Struct", fields: 1 };

test.each([
  ["that does not fit", create(EveryFieldSchema, { string: "b", int64: 2n ** 63n })],
  ["of another type", create(EveryFieldSchema, { string: "b", child: create(OldSchema) as never })],
  ["that is large", create(EveryFieldSchema, { string: "b".repeat(5000) })],
  ["that is JSON", create(EveryFieldSchema, { struct })],
])("a value %s is written as by protobuf-es, and leaves nothing behind", async (_, message) => {
  const bytes = toBinary(EveryFieldSchema, create(EveryFieldSchema, { string: "a" }));
  const writes = [writeBinary, toBinary].map(async (write) => write(EveryFieldSchema, message));
  const [own, other] = await Promise.allSettled(writes);
  expect(own).toEqual(other);
  expect(writeBinary(EveryFieldSchema, create(EveryFieldSchema, { string: "a" }))).toEqual(bytes);
});

test("a required field must be set", () => {
  expect(() => writeBinary(OldSchema, create(OldSchema))).toThrow("required field not set");
});
