/** Errors over REST: `Error { error, message }`. */
import { create, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { RenderedError, RestError } from "connect-gateway";
import { ErrorSchema } from "../../gen/plantstore/v1/plant_service_pb.ts";

/** In UTF-16 code units. Longer messages are cut. */
const messageLengthMax = 256;

/** The interface has one status for an invalid plant and for a taken id: 400. */
export function renderPlantError({ status, error }: RestError): RenderedError {
  return {
    status: error.code === Code.AlreadyExists ? 400 : status,
    body: errorBody(error.code, error.rawMessage),
  };
}

/** The body of an error, without its status. */
export function errorBody(code: Code, message: string) {
  const text = clip(message.toWellFormed().replaceAll(/\p{Cc}/gu, " "));
  return toJson(ErrorSchema, create(ErrorSchema, { error: code, message: text }));
}

function clip(message: string): string {
  if (message.length <= messageLengthMax) return message;
  // A surrogate pair at the cut is removed whole.
  return `${message.slice(0, messageLengthMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
