import { type JsonValue, toJson } from "@bufbuild/protobuf";
import { parseJson } from "../../src/codec/json-messages.ts";
import type { JsonOptions } from "../../src/codec/json-scalar.ts";
import { bindRequest } from "../../src/rest/request/bind.ts";
import { type FieldPath, findFieldPath } from "../../src/rest/rule/field-path.ts";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { refusalOf } from "./violations.ts";

export interface Sent {
  /** The values in the path, by field name. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: string;
  /** The field that the body sets; `*` for the whole message. */
  readonly bodyField?: string;
  readonly body?: string;
  readonly options?: JsonOptions;
}

/** Binds the parts of a request whose message is an EveryField. */
export function bind({ path = {}, query = "", bodyField, body, options = {} }: Sent) {
  const isField = bodyField !== undefined && bodyField !== "*";
  const pathValues = Object.entries(path).map(([names, text]) => ({
    path: findFieldPath(EveryFieldSchema, names)?.path as FieldPath,
    text,
  }));
  const parts = {
    pathValues,
    query,
    bodyField: isField ? EveryFieldSchema.fields.find(({ name }) => name === bodyField) : bodyField,
    body: body === undefined ? body : parseJson(new TextEncoder().encode(body)),
  } as const;
  return bindRequest(EveryFieldSchema, parts as Parameters<typeof bindRequest>[1], options);
}

/** The bound message as ProtoJSON. */
export function bound(sent: Sent): JsonValue {
  return toJson(EveryFieldSchema, bind(sent));
}

/** The violations that reject it. */
export function violationsOf(run: () => unknown) {
  const refusal = refusalOf(run);
  return refusal === "accepted" ? refusal : refusal.violations;
}

export type Json = { [key: string]: JsonValue };
