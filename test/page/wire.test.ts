/** What the page encodes by hand is what a client sends. */
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import {
  CreatePlantRequestSchema,
  NewPlantSchema,
} from "../../gen/plantstore/v1/plant_service_pb.ts";
import { envelope } from "../../packages/gateway/test/support/envelope.ts";

type Parts = readonly { readonly bytes: Uint8Array }[];

/** The page's own scripts have no types. */
const page: string = new URL("../../src/server/page/wire.js", import.meta.url).href;
const wire: {
  encodeRequest(plant: Record<string, string>, numbers: object): Parts;
  joinParts(parts: Parts): Uint8Array;
} = await import(page);

const { createBody } = await import(page.replace("wire", "request"));

const numbers = {
  NewPlant: Object.fromEntries(NewPlantSchema.fields.map(({ name, number }) => [name, number])),
};

test.each([0, 1, 127, 128, 200, 16_384])("a name of %d bytes", (length) => {
  const plant = { id: "-1", name: "n".repeat(length), tag: "🌿" };
  const message = create(CreatePlantRequestSchema, { plant: { ...plant, id: -1n } });
  const body = wire.joinParts(wire.encodeRequest(plant, numbers));
  expect(Buffer.from(body)).toEqual(envelope(toBinary(CreatePlantRequestSchema, message)));
});

test("a name is sent even if it is empty, and a tag is not", () => {
  expect(createBody({ id: "1", name: "", tag: "" })).toBe('{"id": 1, "name": ""}');
});
