/** How an error of the plant store looks over REST: `Error { error, message }`. */
import { create, toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import type { RenderedError, RestError } from "connect-gateway";
import { ErrorSchema } from "../../gen/plantstore/v1/plant_service_pb.ts";

/** Messages are for people: past this many characters nobody reads on. */
const messageLengthMax = 256;

/** The interface knows one status for what is wrong with a plant: 400. */
export function renderPlantError({ status, error }: RestError): RenderedError {
  return {
    status: error.code === Code.AlreadyExists ? 400 : status,
    body: errorBody(error.code, error.rawMessage),
  };
}

/** The body alone. */
export function errorBody(code: Code, message: string) {
  const text = clip(message.toWellFormed().replaceAll(/\p{Cc}/gu, " "));
  return toJson(ErrorSchema, create(ErrorSchema, { error: code, message: text }));
}

function clip(message: string): string {
  if (message.length <= messageLengthMax) return message;
  // A surrogate pair that the cut would part goes as a whole.
  return `${message.slice(0, messageLengthMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}
