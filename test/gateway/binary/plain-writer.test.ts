/** A plain message is written like any other, though not by protobuf-es. */
import { create, type DescMessage, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CreatePlantRequestSchema,
  CreatePlantResponseSchema,
  NewPlantSchema,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { writePlainBinary } from "../../../src/gateway/binary/plain-writer.ts";
import { EveryFieldSchema, EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const plant = { id: 9223372036854775807n, name: "Fève 🌱", tag: "" };

test("any plant is written by it", () => {
  const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(ids, text, fc.option(text, { nil: undefined }), (id, name, tag) => {
      const init = tag === undefined ? { id, name } : { id, name, tag };
      const request = create(CreatePlantRequestSchema, { plant: init });
      const bytes = toBinary(CreatePlantRequestSchema, request);
      expect(writePlainBinary(CreatePlantRequestSchema, request)).toEqual(Buffer.from(bytes));
    }),
  );
});

describe.each([EveryScalarSchema, CreatePlantRequestSchema])("$typeName", (desc: DescMessage) => {
  test("is written as protobuf-es writes it, or not at all", () => {
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

test("what is no plain message is left to protobuf-es, as is what is wrong or long", () => {
  expect(writePlainBinary(EveryFieldSchema, create(EveryFieldSchema))).toBeUndefined();
  const wrong = [
    { plant: { ...plant, name: 1 } },
    { plant: { ...plant, id: 2n ** 63n } },
    { plant: { ...plant, name: "\ud800" } },
    { plant: { ...plant, name: "n".repeat(4096) } },
    { plant: { ...plant, name: "é".repeat(2048) } },
    { plant, $typeName: "another.Message" },
    { plant, $unknown: [{ no: 9, wireType: 0, data: new Uint8Array(1) }] },
    { plant: null },
    { plant: "plant" },
  ];
  for (const fields of wrong) {
    const message = create(CreatePlantRequestSchema);
    const { plant: asked, ...rest } = fields;
    const isPlant = typeof asked === "object" && asked !== null;
    const made = isPlant ? create(NewPlantSchema, plant) : asked;
    if (isPlant) Object.assign(made as object, asked);
    Object.assign(message, { plant: made, ...rest });
    expect(
      writePlainBinary(CreatePlantRequestSchema, message),
      JSON.stringify(rest),
    ).toBeUndefined();
  }
});

test("a number that no float holds is left to be refused", () => {
  for (const float of [1e39, "1"]) {
    const message = Object.assign(create(EveryScalarSchema), { float });
    expect(writePlainBinary(EveryScalarSchema, message)).toBeUndefined();
  }
});

test("a message as long as may be is written whole", () => {
  for (let length = 4070; length < 4100; length++) {
    const message = create(CreatePlantResponseSchema, { plant: { name: "n".repeat(length) } });
    const bytes = writePlainBinary(CreatePlantResponseSchema, message);
    if (bytes === undefined) {
      expect(length).toBeGreaterThan(4080);
      return;
    }
    expect(bytes).toEqual(Buffer.from(toBinary(CreatePlantResponseSchema, message)));
  }
  throw new Error("there is no limit");
});
