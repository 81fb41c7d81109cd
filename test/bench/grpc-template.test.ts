import { fromBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { GrpcTemplate } from "../../bench/load/grpc-template.ts";
import { idStreamsMax, plantId } from "../../bench/plant-ids.ts";
import { CreatePlantRequestSchema } from "../../gen/plantstore/v1/plant_service_pb.ts";
import { flag, frameType, parseFrames } from "../../packages/gateway/test/support/raw-http2.ts";

const headers = { flags: flag.endHeaders, payload: Buffer.from("header block") };
const template = new GrpcTemplate(headers);

const stream = fc.integer({ min: 0, max: idStreamsMax - 1 });
const order = fc.constantFrom("ascending" as const, "random" as const);
const n = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const ids = fc.record({ stream, order, n }).map(({ n, ...ids }) => plantId(ids, n));
const streamIds = fc.integer({ min: 0, max: 2 ** 30 - 1 }).map((k) => 2 * k + 1);

test("a patched request is two frames that carry the plant of this id", () => {
  fc.assert(
    fc.property(ids, streamIds, fc.nat(100), (id, streamId, at) => {
      const target = Buffer.alloc(at + template.bytes);
      template.write(target, at, streamId, id);
      const [head, data, ...others] = parseFrames(target.subarray(at));
      expect(others).toEqual([]);
      expect(head).toEqual({ type: frameType.headers, streamId, ...headers });
      expect(data).toMatchObject({ type: frameType.data, flags: flag.endStream, streamId });
      const body = data?.payload ?? Buffer.alloc(0);
      expect(body).toHaveLength(template.dataBytes);
      expect([body.readUInt8(0), body.readUInt32BE(1)]).toEqual([0, body.length - 5]);
      const { plant } = fromBinary(CreatePlantRequestSchema, body.subarray(5));
      expect(plant).toMatchObject({ id: BigInt(id), name: "Basil", tag: "herb" });
      expect(plant?.$unknown).toBeUndefined();
    }),
  );
});

test("a request leaves its neighbours alone", () => {
  const target = Buffer.alloc(3 * template.bytes);
  template.write(target, 0, 1, 1e15 + 1);
  template.write(target, 2 * template.bytes, 5, 1e15 + 5);
  const [before, after] = [target.subarray(0, template.bytes), target.subarray(2 * template.bytes)];
  const copies = [Buffer.from(before), Buffer.from(after)];
  template.write(target, template.bytes, 3, 2 ** 53 - 1);
  expect([before, after]).toEqual(copies);
});
