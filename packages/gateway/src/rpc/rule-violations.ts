/** Violations of protovalidate's rules, which an interceptor has found: told as all others are. */
import { create, type DescMessage } from "@bufbuild/protobuf";
import { protoCamelCase } from "@bufbuild/protobuf/reflect";
import { Code, ConnectError } from "@connectrpc/connect";
import { BadRequestSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { badRequestDetail, FieldViolation, violationsMax } from "../codec/violation.ts";

/**
 * The same error; one with `buf.validate.Violations` has `google.rpc.BadRequest` besides, which
 * says the same of the same fields.
 */
export function withBadRequest(error: ConnectError): ConnectError {
  if (error.code !== Code.InvalidArgument) return error;
  const found = error.details.find((detail) => typeNameOf(detail) === "buf.validate.Violations");
  // What another service has found came as bytes, and is about its request.
  if (found === undefined || !("desc" in found)) return error;
  if (error.details.some((detail) => typeNameOf(detail) === BadRequestSchema.typeName))
    return error;
  const { violations } = create<DescMessage>(found.desc, found.value) as unknown as Violations;
  const { rawMessage, code, metadata, cause } = error;
  const own = { desc: found.desc, value: { violations: violations.slice(0, violationsMax) } };
  const others = error.details.map((detail) => (detail === found ? own : detail));
  const details = [...others, badRequestDetail(violations.map(fieldViolation))];
  return Object.assign(new ConnectError(rawMessage, code, metadata, undefined, cause), { details });
}

function typeNameOf(detail: ConnectError["details"][number]): string {
  return "desc" in detail ? detail.desc.typeName : detail.type;
}

/** What is looked at of `buf.validate.Violations`, as protobuf-es has it. */
interface Violations {
  readonly violations: readonly RuleViolation[];
}

interface RuleViolation {
  readonly field?: { readonly elements: readonly PathElement[] } | undefined;
  readonly message: string;
}

interface PathElement {
  readonly fieldName: string;
  readonly subscript: { readonly case: string | undefined; readonly value?: unknown };
}

function fieldViolation({ field, message }: RuleViolation): FieldViolation {
  return new FieldViolation(pathOf(field?.elements ?? []), message);
}

/** In the form of our own, by JSON names: `newBooks[0].title`, and `[an.extension]` in brackets. */
function pathOf(elements: readonly PathElement[]): string {
  return elements.reduce((path, { fieldName, subscript }) => {
    const isExtension = fieldName.startsWith("[");
    const name = isExtension ? fieldName : protoCamelCase(fieldName);
    return `${path}${path === "" || isExtension ? "" : "."}${name}${subscriptText(subscript)}`;
  }, "");
}

function subscriptText({ case: kind, value }: PathElement["subscript"]): string {
  if (kind === undefined) return "";
  return kind === "index" ? `[${value}]` : `["${value}"]`;
}
