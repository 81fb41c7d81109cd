/** A plain message is read and written like any other, though not by protobuf-es. */
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CreatePlantRequestSchema,
  CreatePlantResponseSchema,
  NewPlantSchema,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { readPlain } from "../../../src/gateway/binary/plain-reader.ts";
import { writePlain } from "../../../src/gateway/binary/plain-writer.ts";
import { assertWireFormat } from "../../../src/gateway/binary/wire-format.ts";
import { EveryFieldSchema, EveryScalarSchema } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";

const plant = { id: 9223372036854775807n, name: "Fève 🌱", tag: "" };

test("any plant is read and written by it", () => {
  const ids = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(ids, text, fc.option(text, { nil: undefined }), (id, name, tag) => {
      const init = tag === undefined ? { id, name } : { id, name, tag };
      const request = create(CreatePlantRequestSchema, { plant: init });
      const bytes = toBinary(CreatePlantRequestSchema, request);
      expect(readPlain(CreatePlantRequestSchema, bytes)).toStrictEqual(request);
      expect(writePlain(CreatePlantRequestSchema, request)).toEqual(Buffer.from(bytes));
    }),
  );
});

describe.each([EveryScalarSchema, CreatePlantRequestSchema])("$typeName", (desc: DescMessage) => {
  test("is written as protobuf-es writes it, or not at all", () => {
    let written = 0;
    fc.assert(
      fc.property(anyMessage(desc), (message) => {
        const bytes = writePlain(desc, message);
        if (bytes === undefined) return;
        written++;
        expect(bytes).toEqual(Buffer.from(toBinary(desc, message)));
      }),
      { numRuns: 2000 },
    );
    expect(written).toBeGreaterThan(200);
  });

  test("is read as protobuf-es reads it, or not at all, whatever the bytes", () => {
    let read = 0;
    const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    const changes = fc.array(change, { maxLength: 2 });
    fc.assert(
      fc.property(anyMessage(desc), changes, fc.nat(30), (message, changed, cut) => {
        const whole = Buffer.from(toBinary(desc, message));
        const bytes = cut < 3 ? whole.subarray(0, whole.length - cut) : whole;
        for (const { at, byte } of changed) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        const plain = readPlain(desc, bytes);
        if (plain === undefined) return;
        read++;
        assertWireFormat(desc, bytes);
        expect(plain).toStrictEqual(fromBinary(desc, bytes));
      }),
      { numRuns: 10_000 },
    );
    expect(read).toBeGreaterThan(1000);
  });
});

/** Bytes of a CreatePlantRequest, by its fields: `plant` is 1; in it `id` is 1, `name` 2, `tag` 3. */
const unusual: readonly [string, string][] = [
  ["a field out of order", "0a0612016108011a00"],
  ["a field twice", "0a0508011201611201"],
  ["a message twice", "0a020801 0a031201 61"],
  ["an unknown field", "0a0708011201612001"],
  ["the wire type of another", "0a0509010000000000000000"],
  ["a number longer than it need be", "0a0608818000120161"],
  ["a number of 65 bits", "0a0e08ffffffffffffffffff02120161"],
  ["a number without an end", "0a0b08ffffffffffffffffffff"],
  ["a length past the end", "0a0608011203616263"],
  ["a length past its message", "0a05080112056162636465"],
  ["a text that is not UTF-8", "0a05080112 01ff"],
  ["half a tag", "80"],
  ["half of a plant", "0a05080112"],
];

test.each(unusual)("%s is left to protobuf-es", (_name, hex) => {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
  expect(readPlain(CreatePlantRequestSchema, bytes)).toBeUndefined();
});

test("what is no plain message is left to protobuf-es, as is what is wrong or long", () => {
  expect(readPlain(EveryFieldSchema, new Uint8Array(0))).toBeUndefined();
  expect(writePlain(EveryFieldSchema, create(EveryFieldSchema))).toBeUndefined();
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
    expect(writePlain(CreatePlantRequestSchema, message), JSON.stringify(rest)).toBeUndefined();
  }
});

test("a message as long as may be is written whole", () => {
  for (let length = 4070; length < 4100; length++) {
    const message = create(CreatePlantResponseSchema, { plant: { name: "n".repeat(length) } });
    const bytes = writePlain(CreatePlantResponseSchema, message);
    if (bytes === undefined) {
      expect(length).toBeGreaterThan(4080);
      return;
    }
    expect(bytes).toEqual(Buffer.from(toBinary(CreatePlantResponseSchema, message)));
  }
  throw new Error("there is no limit");
});
