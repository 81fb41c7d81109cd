/** Messages that are passed on unread, and what happens if somebody looks into one. */
import { create, equals, isFieldSet, toBinary, toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { createCodecs } from "../../src/codec/codec.ts";
import { passers, toBytes } from "../../src/codec/passed.ts";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { type EveryField, EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { LegacyService } from "../gen/openapi/legacy/v1/legacy_pb.ts";

const desc = EveryFieldSchema;
const { echo: method } = FieldService.method;

/** Not as it would be written: its second field comes first. */
const odd = Buffer.from([
  ...toBinary(desc, create(desc, { optionalString: "" })),
  ...toBinary(desc, create(desc, { string: "a" })),
]);

function unread(bytes: Uint8Array = odd, readMaxValues = 100): EveryField {
  const limits = { readMaxBytes: 1e6, writeMaxBytes: 1e6, compressMinBytes: 0 };
  const options = { ...limits, passesOn: true, readMaxValues };
  return createCodecs(method, options).binary.parse(bytes) as EveryField;
}

test("it is written in its bytes, also after a promise and a check of its type", async () => {
  const message = create(desc, await Promise.resolve(unread()));
  expect(Buffer.from(toBytes(desc, message))).toEqual(odd);
  const options = { writeUnknownFields: false };
  expect(toBytes(desc, unread(), options)).toEqual(toBinary(desc, message));
});

test.each<[string, (message: EveryField) => unknown]>([
  ["a field", ({ string }) => string === "a"],
  ["whether a field is set", (message) => isFieldSet(message, desc.field.optionalString)],
  ["whether it has a name", (message) => "optionalString" in message],
  ["its names", (message) => Object.keys(message).includes("optionalString")],
  ["a copy", (message) => ({ ...message }).string === "a"],
  ["its JSON", (message) => JSON.stringify(toJson(desc, message)).includes('"string":"a"')],
  ["what it equals", (message) => equals(desc, message, create(desc, { ...message }))],
])("who looks for %s finds it", (_what, look) => {
  expect(look(unread())).toBe(true);
});

test.each<[string, (message: EveryField) => unknown, object]>([
  ["sets a field", (message) => Object.assign(message, { int32: 1 }), { int32: 1, string: "a" }],
  ["deletes one", (message) => delete message.optionalString, { string: "a" }],
  ["changes a list", ({ stringList }) => stringList.push("b"), { string: "a", stringList: ["b"] }],
])("who %s changes what is written", (_what, change, expected) => {
  const message = unread();
  change(message);
  const { optionalString = "" } = message;
  const init = "optionalString" in message ? { ...expected, optionalString } : expected;
  expect(toBytes(desc, message)).toEqual(toBinary(desc, create(desc, init)));
});

test("who looks into what is no message, or has too many values, gets the error", () => {
  const wrong = unread(Buffer.from([0xff]));
  for (let times = 0; times < 2; times++) expect(() => wrong.string).toThrow("parse binary");
  expect(toBytes(desc, wrong)).toHaveLength(1);
  const many = Buffer.concat(Array.from({ length: 3000 }, () => odd));
  expect(() => unread(many).string).toThrow(/more than 100 values/);
});

test("it keeps no more than itself", () => {
  const read = new Uint8Array(65_536);
  read.set(odd);
  const message = unread(read.subarray(0, odd.length));
  read.fill(0xff);
  expect(Buffer.from(toBytes(desc, message))).toEqual(odd);
  const large = new Uint8Array(5000);
  expect(toBytes(desc, unread(large))).toBe(large);
});

test.each([
  ["is not read", FieldService, true],
  ["is, if proto2 requires fields", LegacyService, false],
])("a request that a service passes on %s", (_what, service, isUnread) => {
  const implementation = {};
  passers.add(implementation);
  const endpoints = collectEndpoints({}, (router) => router.service(service, implementation));
  expect(endpoints).not.toHaveLength(0);
  for (const { codecs } of endpoints) {
    const read = () => codecs.binary.parse(Buffer.from([0xff]));
    if (isUnread) expect(read).not.toThrow();
    else expect(read).toThrow("parse binary");
  }
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
