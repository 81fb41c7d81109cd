import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { badRequest, FieldViolation } from "../../src/codec/violation.ts";
import { reasonOf } from "../../src/logging/reason.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { describeMethod } from "../support/described-method.ts";

const method = CatalogService.method.createVolume;
const violation = (field: string) => badRequest([new FieldViolation(field, "is wrong")]);
const upstream = new ConnectError("secret", Code.NotFound);
upstream.isWireError = true;

test.each([
  ["a quoted text", new ConnectError('has "secret" twice', Code.InvalidArgument), "has …"],
  ["a token", new ConnectError("Unexpected token 's'", Code.InvalidArgument), "Unexpected token …"],
  ["a message of many lines", new ConnectError('it is "a\nb" there', Code.Internal), "it is …"],
  ["a long message", new ConnectError("x".repeat(300), Code.Internal), "x".repeat(200)],
  ["an upstream", upstream, "another service answered with this error"],
  [
    "an upstream, by a proxy",
    new ConnectError("secret", Code.NotFound, undefined, undefined, upstream),
    "another service answered with this error",
  ],
  ["a field", violation("volume.title"), "title is wrong"],
  ["a oneof", violation("child.choice"), "choice is wrong", describeMethod(EveryFieldSchema, {})],
  ["the message itself", violation(""), "the request is wrong"],
  ["a member that is no field", violation("volume.secret"), "a field is wrong"],
  ["a key of a map", violation('volume.title["a.secret"]'), "title[…"],
  ["a member like a long index", violation("volume.title[12345678]"), "a field is wrong"],
  ["an item of a list", violation("volume.title[12]"), "title[12] is wrong"],
  ["curved quotation marks", new ConnectError("has “secret” twice", Code.Internal), "has …"],
  [
    "a header's value",
    new ConnectError("invalid connect timeout value: secret", Code.InvalidArgument),
    "invalid connect timeout value: …",
  ],
  ["a field below a key", violation('volume.labels["secret"].title'), "title is wrong"],
] as const)("of %s", (_what, error, reason, of = method) => {
  expect(reasonOf(error, of)).toBe(reason);
});
