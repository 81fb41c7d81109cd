/** The gateway's answers match the schema of the answer. */
import { toJson } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { messageToJson } from "../../src/codec/json-messages.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { anyMessage } from "../support/arbitrary-message.ts";
import { documentOf, operationOf, validatorOf } from "./document-of.ts";

test.each(["string", "number"] as const)("with 64-bit integers as %s", (int64) => {
  const document = documentOf(FieldService, { rest: { int64 } });
  const { schema } = operationOf(document, "Echo").responses["200"].content["application/json"];
  const allows = validatorOf(document, schema);
  const property = fc.property(anyMessage(EveryFieldSchema), (message) => {
    // Messages of any type have no JSON without a registry, and numbers of enums have no name.
    let json: unknown;
    try {
      toJson(EveryFieldSchema, message);
      json = JSON.parse(JSON.stringify(messageToJson(EveryFieldSchema, message, { int64 })));
    } catch {
      return;
    }
    allows(json);
    expect([json, allows.errors]).toEqual([json, null]);
  });
  fc.assert(property, { numRuns: 300 });
});
