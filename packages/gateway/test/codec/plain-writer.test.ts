/** A plain message is written like any other, but without protobuf-es. */
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { writePlainBinary } from "../../src/codec/plain-writer.ts";
import { EveryFieldSchema, EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import {
  LabelSchema,
  PrintLabelRequestSchema,
  PrintLabelResponseSchema,
} from "../gen/library/v1/label_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const label = { id: 9223372036854775807n, name: "Fève 🌱", tag: "" };

test("any label is written without protobuf-es", () => {
  const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(ids, text, fc.option(text, { nil: undefined }), (id, name, tag) => {
      const init = tag === undefined ? { id, name } : { id, name, tag };
      const request = create(PrintLabelRequestSchema, { label: init });
      const bytes = toBinary(PrintLabelRequestSchema, request);
      expect(writePlainBinary(PrintLabelRequestSchema, request)).toEqual(Buffer.from(bytes));
    }),
  );
});

describe.each([EveryScalarSchema, PrintLabelRequestSchema])("$typeName", (desc: DescMessage) => {
  test("is written as by protobuf-es, or not at all", () => {
    let written = 0;
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        const bytes = writePlainBinary(desc, message);
        if (bytes === undefined) return;
        written++;
        expect(bytes).toEqual(Buffer.from(toBinary(desc, message)));
      }),
      { numRuns: 2000 },
    );
    expect(written).toBeGreaterThan(200);
  });
});

test("messages that are not plain, invalid or long are left to protobuf-es", () => {
  expect(writePlainBinary(EveryFieldSchema, create(EveryFieldSchema))).toBeUndefined();
  const wrong = [
    { label: { ...label, name: 1 } },
    { label: { ...label, id: 2n ** 63n } },
    { label: { ...label, name: "\ud800" } },
    { label: { ...label, name: "n".repeat(4096) } },
    { label: { ...label, name: "é".repeat(2048) } },
    { label, $typeName: "another.Message" },
    { label, $unknown: [{ no: 9, wireType: 0, data: new Uint8Array(1) }] },
    { label: null },
    { label: "label" },
  ];
  for (const fields of wrong) {
    const message = create(PrintLabelRequestSchema);
    const { label: asked, ...rest } = fields;
    const isLabel = typeof asked === "object" && asked !== null;
    const made = isLabel ? create(LabelSchema, label) : asked;
    if (isLabel) Object.assign(made as object, asked);
    Object.assign(message, { label: made, ...rest });
    expect(
      writePlainBinary(PrintLabelRequestSchema, message),
      JSON.stringify(rest),
    ).toBeUndefined();
  }
});

test("a number that no float can hold is left to protobuf-es, which rejects it", () => {
  for (const float of [1e39, "1"]) {
    const message = Object.assign(create(EveryScalarSchema), { float });
    expect(writePlainBinary(EveryScalarSchema, message)).toBeUndefined();
  }
});

test("a message of the maximum length is written completely", () => {
  for (let length = 4070; length < 4100; length++) {
    const message = create(PrintLabelResponseSchema, { label: { name: "n".repeat(length) } });
    const bytes = writePlainBinary(PrintLabelResponseSchema, message);
    if (bytes === undefined) {
      expect(length).toBeGreaterThan(4080);
      return;
    }
    expect(bytes).toEqual(Buffer.from(toBinary(PrintLabelResponseSchema, message)));
  }
  throw new Error("there is no limit");
});
