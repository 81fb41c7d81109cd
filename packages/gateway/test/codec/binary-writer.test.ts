/** Messages are written as by `toBinary`, whatever was written before. */
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import { BytesValueSchema, Int64ValueSchema, TimestampSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { writeBinary } from "../../src/codec/binary-writer.ts";
import { EveryFieldSchema, EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import {
  LabelSchema,
  PrintedLabelSchema,
  PrintLabelRequestSchema,
  PrintLabelResponseSchema,
} from "../gen/library/v1/label_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const label = { id: 9223372036854775807n, name: "Fève 🌱", tag: "" };
const valid = create(PrintLabelRequestSchema, { label });

/** The bytes, or the message of the error. */
function outcome(write: () => Uint8Array): unknown {
  try {
    return new Uint8Array(write());
  } catch (error) {
    return String(error);
  }
}

describe.each([
  EveryScalarSchema,
  EveryFieldSchema,
  PrintLabelRequestSchema,
  PrintLabelResponseSchema,
  PrintedLabelSchema,
  BytesValueSchema,
  Int64ValueSchema,
  TimestampSchema,
])("$typeName", (desc: DescMessage) => {
  test("is written as by toBinary", () => {
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        expect(outcome(() => writeBinary(desc, message))).toEqual(
          outcome(() => toBinary(desc, message)),
        );
      }),
      { numRuns: 1000 },
    );
  });
});

const unknown = { no: 9, wireType: 0, data: new Uint8Array([1]) };

test.each([
  ["a name that is no text", { name: 1 }],
  ["an id out of range", { id: 2n ** 63n }],
  ["half a character", { name: "\ud800" }],
  ["long text", { name: "é".repeat(20_000) }],
  ["another type", { $typeName: "another.Message" }],
  ["an unknown field", { $unknown: [unknown] }],
])("a message in a message with %s, and the message after it", (_, fields) => {
  const request = create(PrintLabelRequestSchema);
  request.label = Object.assign(create(LabelSchema, label), fields);
  const both = (write: typeof toBinary | typeof writeBinary) => [
    outcome(() => write(PrintLabelRequestSchema, request)),
    outcome(() => write(PrintLabelRequestSchema, valid)),
  ];
  expect(both(writeBinary)).toEqual(both(toBinary));
});

test("a message that writes another while it is read", () => {
  const request = create(PrintLabelRequestSchema);
  const inner = create(LabelSchema, label);
  Object.defineProperty(inner, "tag", {
    enumerable: true,
    get: () => String(writeBinary(LabelSchema, create(LabelSchema, label)).length),
  });
  request.label = inner;
  expect(outcome(() => writeBinary(PrintLabelRequestSchema, request))).toEqual(
    outcome(() => toBinary(PrintLabelRequestSchema, request)),
  );
});

test("unknown fields are left out on request", () => {
  const message = Object.assign(create(LabelSchema, label), { $unknown: [unknown] });
  const options = { writeUnknownFields: false };
  expect(outcome(() => writeBinary(LabelSchema, message, options))).toEqual(
    outcome(() => toBinary(LabelSchema, message, options)),
  );
});
