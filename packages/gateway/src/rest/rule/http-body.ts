/** google.api.HttpBody: a message that represents a whole HTTP body of any media type. */
import { create, type DescField, type DescMessage, type MessageShape } from "@bufbuild/protobuf";
import { type ReflectMessage, reflect } from "@bufbuild/protobuf/reflect";
import { type HttpBody, HttpBodySchema } from "../../../gen/google/api/httpbody_pb.ts";

/** The part of a message that is the body: all of it (`*`, or undefined), or a field. */
type Part = "*" | DescField | undefined;

export function isHttpBody(message: DescMessage, part: Part): boolean {
  if (typeof part !== "object") return message.typeName === HttpBodySchema.typeName;
  return part.fieldKind === "message" && part.message.typeName === HttpBodySchema.typeName;
}

export function setHttpBody(
  desc: DescMessage,
  message: MessageShape<DescMessage>,
  part: Part,
  body: { contentType: string; data: Uint8Array },
): void {
  if (typeof part !== "object") Object.assign(message, body);
  else reflect(desc, message).set(part, reflect(HttpBodySchema, create(HttpBodySchema, body)));
}

/** Returns the body in that part of the message; an empty one if it is not set. */
export function getHttpBody(
  desc: DescMessage,
  message: MessageShape<DescMessage>,
  part: Part,
): HttpBody {
  if (typeof part !== "object") return message as HttpBody;
  return (reflect(desc, message).get(part) as ReflectMessage).message as HttpBody;
}
