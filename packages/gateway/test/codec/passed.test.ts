/** Which bytes are kept of messages that are passed on. */
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { keepBytes, toBytes } from "../../src/codec/passed.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

function kept(length: number, bufferLength: number, options?: object): boolean {
  const message = create(EveryFieldSchema, { string: "a".repeat(length) });
  const written = toBinary(EveryFieldSchema, message);
  const bytes = new Uint8Array(bufferLength).subarray(0, written.length);
  bytes.set(written);
  return toBytes(EveryFieldSchema, keepBytes(message, bytes), options) === bytes;
}

test.each([
  ["a large message", true, [5000, 5100]],
  ["a small one", false, [4000, 4100]],
  ["one that is a part of much more", false, [5000, 65_536]],
  ["one that is written with options", false, [5000, 5100, { writeUnknownFields: false }]],
] as const)("of %s: %s", (_what, isKept, [length, bufferLength, options]) => {
  expect(kept(length, bufferLength, options)).toBe(isKept);
});

test("the head before a message is used again only if it is the same", () => {
  const message = new Uint8Array(5000);
  const envelope = wrapEnvelope(0, message);
  const data = new Uint8Array(envelope).subarray(5);
  expect(wrapEnvelope(0, data).buffer).toBe(data.buffer);
  const pooled = new Uint8Array(65_536);
  pooled.set(envelope);
  expect(wrapEnvelope(0, pooled.subarray(5, 5005)).buffer).not.toBe(pooled.buffer);
  expect([...wrapEnvelope(1, data)]).toEqual([1, ...envelope.subarray(1)]);
  expect([...wrapEnvelope(0, data.subarray(1)).subarray(0, 5)]).toEqual([0, 0, 0, 19, 135]);
});
