/** A plain message is read and written like any other, though not by protobuf-es. */
import { create, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createMethodImplSpec } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  CreatePlantRequestSchema,
  CreatePlantResponseSchema,
  NewPlantSchema,
  PlantService,
} from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { readPlainBinary } from "../../../src/gateway/binary/plain-reader.ts";
import { writePlainBinary } from "../../../src/gateway/binary/plain-writer.ts";
import { assertWireFormat } from "../../../src/gateway/binary/wire-format.ts";
import { createCodecs } from "../../../src/gateway/codec.ts";
import type { EndpointOptions } from "../../../src/gateway/endpoint.ts";
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
      expect(readPlainBinary(CreatePlantRequestSchema, bytes)).toStrictEqual(request);
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

  test("is read as protobuf-es reads it, or not at all, whatever the bytes", () => {
    let read = 0;
    const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) });
    const changes = fc.array(change, { maxLength: 2 });
    fc.assert(
      fc.property(anyMessage(desc), changes, fc.nat(30), (message, changed, cut) => {
        const whole = Buffer.from(toBinary(desc, message));
        const bytes = cut < 3 ? whole.subarray(0, whole.length - cut) : whole;
        for (const { at, byte } of changed) if (bytes.length > 0) bytes[at % bytes.length] = byte;
        const plain = readPlainBinary(desc, bytes);
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
  ["a field out of order", "0a 07 120161 0801 1a00"],
  ["a field twice", "0a 08 0801 120161 120162"],
  ["a message twice", "0a 02 0801 0a 03 120161"],
  ["an unknown field", "0a 07 0801 120161 2001"],
  ["the wire type of another", "0a 0c 090100000000000000 120161"],
  ["a number longer than it need be", "0a 07 08818000 120161"],
  ["a length longer than it need be", "0a 06 0801 12810061"],
  ["a number of 65 bits", "0a 0e 08ffffffffffffffffff02 120161"],
  ["a number without an end", "0a 0b 08ffffffffffffffffff"],
  ["a length past the end", "0a 06 0801 12056162"],
  ["a length past its message", "0a 05 0801 120561 62636465"],
  ["a text that is not UTF-8", "0a 05 0801 1201ff"],
  ["half a tag", "80"],
  ["half of a plant", "0a 05 0801 12"],
];

test.each(unusual)("%s is left to protobuf-es", (_name, hex) => {
  const bytes = Buffer.from(hex.replaceAll(" ", ""), "hex");
  expect(readPlainBinary(CreatePlantRequestSchema, bytes)).toBeUndefined();
});

test("what is no plain message is left to protobuf-es, as is what is wrong or long", () => {
  expect(readPlainBinary(EveryFieldSchema, new Uint8Array(0))).toBeUndefined();
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

test("an own limit of depth is kept", () => {
  const bytes = toBinary(CreatePlantRequestSchema, create(CreatePlantRequestSchema, { plant }));
  const spec = createMethodImplSpec(PlantService.method.createPlant, (): never => {
    throw new Error("nobody calls it");
  });
  const parseWith = (recursionLimit: number) => {
    const limits = { readMaxBytes: 1000, writeMaxBytes: 1000, binaryOptions: { recursionLimit } };
    return createCodecs({ spec, options: limits as EndpointOptions }).binary.parse(bytes);
  };
  expect(parseWith(2)).toStrictEqual(create(CreatePlantRequestSchema, { plant }));
  expect(() => parseWith(1)).toThrow(/parse binary/);
});

test("a text may begin with U+FEFF", () => {
  const request = create(CreatePlantRequestSchema, { plant: { ...plant, name: "\ufeffé" } });
  const bytes = toBinary(CreatePlantRequestSchema, request);
  expect(readPlainBinary(CreatePlantRequestSchema, bytes)).toStrictEqual(request);
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
