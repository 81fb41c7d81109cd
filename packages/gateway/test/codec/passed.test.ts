/** Messages that are passed on unread. */
import { create, type DescService } from "@bufbuild/protobuf";
import type { ConnectRouterOptions, Interceptor } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { passers, toBytes, unreadMessage } from "../../src/codec/passed.ts";
import { blindInterceptor } from "../../src/rpc/blind.ts";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { LegacyService } from "../gen/openapi/legacy/v1/legacy_pb.ts";

const blind = blindInterceptor((next) => next);
const other: Interceptor = (next) => next;

test.each<[string, DescService, ConnectRouterOptions & { isPasser?: boolean }, boolean]>([
  ["is not read", FieldService, {}, true],
  ["is not read behind those who do not look", FieldService, { interceptors: [blind] }, true],
  ["is, behind others", FieldService, { interceptors: [blind, other] }, false],
  ["is, if proto2 requires fields", LegacyService, {}, false],
  ["is, with options", FieldService, { binaryOptions: { readUnknownFields: false } }, false],
  ["is, if it is not passed on", FieldService, { isPasser: false }, false],
])("a request that a service passes on %s", (_what, service, given, isUnread) => {
  const { isPasser = true, ...options } = given;
  const implementation = {};
  if (isPasser) passers.add(implementation);
  const endpoints = collectEndpoints(options, (router) => router.service(service, implementation));
  expect(endpoints).not.toHaveLength(0);
  const bytes = Buffer.from([0xff]);
  for (const { codecs, spec } of endpoints) {
    const read = () => codecs.binary.parse(bytes);
    if (isUnread) expect(toBytes(spec.method.input, read())).toEqual(bytes);
    else expect(read).toThrow("parse binary");
  }
});

test("it is the same message where it is created, and keeps no more than itself", () => {
  const read = new Uint8Array(65_536).fill(1);
  const message = unreadMessage(EveryFieldSchema, read.subarray(0, 9));
  expect(create(EveryFieldSchema, message)).toBe(message);
  read.fill(2);
  expect([...toBytes(EveryFieldSchema, message)]).toEqual(Array(9).fill(1));
  const large = new Uint8Array(5000);
  expect(toBytes(EveryFieldSchema, unreadMessage(EveryFieldSchema, large))).toBe(large);
});

test("the head before a message is used again only if it is the same", () => {
  const envelope = wrapEnvelope(0, new Uint8Array(5000));
  const data = new Uint8Array(envelope).subarray(5);
  expect(wrapEnvelope(0, data).buffer).toBe(data.buffer);
  const pooled = new Uint8Array(65_536);
  pooled.set(envelope);
  expect(wrapEnvelope(0, pooled.subarray(5, 5005)).buffer).not.toBe(pooled.buffer);
  expect([...wrapEnvelope(1, data)]).toEqual([1, ...envelope.subarray(1)]);
  expect([...wrapEnvelope(0, data.subarray(1)).subarray(0, 5)]).toEqual([0, 0, 0, 19, 135]);
});
