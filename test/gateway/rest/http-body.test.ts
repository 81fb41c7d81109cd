import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { HttpBodySchema } from "../../../gen/google/api/httpbody_pb.ts";
import { getHttpBody, isHttpBody, setHttpBody } from "../../../src/gateway/rest/http-body.ts";
import {
  CreateVolumeRequestSchema,
  UploadVolumeRequestSchema,
  VolumeSchema,
} from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";

const { content } = UploadVolumeRequestSchema.field;
const body = { contentType: "image/png", data: new Uint8Array([0, 255, 10]) };

describe("what is a body", () => {
  test.each([
    ["the whole HttpBody", isHttpBody(HttpBodySchema, "*"), true],
    ["the whole HttpBody of an answer", isHttpBody(HttpBodySchema, undefined), true],
    ["a field", isHttpBody(UploadVolumeRequestSchema, content), true],
    ["not the message around it", isHttpBody(UploadVolumeRequestSchema, "*"), false],
    ["not another message", isHttpBody(VolumeSchema, undefined), false],
    [
      "not a field of another type",
      isHttpBody(CreateVolumeRequestSchema, CreateVolumeRequestSchema.field.volume),
      false,
    ],
    [
      "not a scalar",
      isHttpBody(UploadVolumeRequestSchema, UploadVolumeRequestSchema.field.name),
      false,
    ],
    [
      "not a list of messages",
      isHttpBody(EveryFieldSchema, EveryFieldSchema.field.children),
      false,
    ],
    ["not the data within", isHttpBody(HttpBodySchema, HttpBodySchema.field.data), false],
  ])("%s", (_what, is, expected) => {
    expect(is).toBe(expected);
  });
});

test("a field gets it, and gives it back", () => {
  const message = create(UploadVolumeRequestSchema, { name: "a" });
  setHttpBody(UploadVolumeRequestSchema, message, content, body);
  expect(message).toMatchObject({ name: "a", content: body });
  expect(getHttpBody(UploadVolumeRequestSchema, message, content)).toMatchObject(body);
});

test("the whole message gets it, and gives it back", () => {
  const message = create(HttpBodySchema, { contentType: "text/plain" });
  setHttpBody(HttpBodySchema, message, "*", body);
  expect(getHttpBody(HttpBodySchema, message, undefined)).toBe(message);
  expect(message).toMatchObject(body);
});

test("a field that is not set is an empty one", () => {
  const message = create(UploadVolumeRequestSchema);
  const { contentType, data } = getHttpBody(UploadVolumeRequestSchema, message, content);
  expect([contentType, data.length]).toEqual(["", 0]);
});
