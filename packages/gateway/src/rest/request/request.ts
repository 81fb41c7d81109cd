/** HTTP -> request message. */
import type { DescField, DescMessage, MessageShape } from "@bufbuild/protobuf";
import { hasCustomJson, parseJson } from "../../codec/json-messages.ts";
import type { ExactJson } from "../../codec/json-value.ts";
import { badRequest, FieldViolation } from "../../codec/violation.ts";
import { headerOf } from "../../http/exchange.ts";
import type { Route, Target } from "../routing/route.ts";
import { jsonPath } from "../rule/field-path.ts";
import { isHttpBody, setHttpBody } from "../rule/http-body.ts";
import { captureVariable } from "../rule/path-template.ts";
import { splitArray, splitLines } from "../stream/json-stream.ts";
import { bindRequest } from "./bind.ts";
import {
  assertMediaType,
  type ChunkedRequest,
  readBody,
  readNothing,
  streamBody,
  type WholeRequest,
} from "./body.ts";
import { mergePatchType } from "./update-mask.ts";

type Message = MessageShape<DescMessage>;

/**
 * Reads the single message of a unary or server-streaming call. An empty body is the empty message,
 * as in other transcoders: `curl -X POST` sends that.
 *
 * @throws {ConnectError} {@link RestFailure}
 */
export function readMessage(route: Route, request: WholeRequest, target: Target): Promise<Message> {
  const { binding, bodyTypes, options, spec } = route;
  if (binding.body === undefined) {
    return readBody(request, options, (bytes) => {
      assertNoBody(bytes);
      return bind(route, target, undefined);
    });
  }
  if (isHttpBody(spec.method.input, binding.body)) {
    return readBody(request, options, (data) => withHttpBody(route, target, request, data));
  }
  const nothing = hasCustomJson(spec.method.input) ? undefined : emptyBody(binding.body);
  const bindNothing = () => bind(route, target, nothing);
  if (!headerOf(request, "content-type")) {
    return readNothing(request, options, bodyTypes, bindNothing);
  }
  const type = assertMediaType(request, bodyTypes);
  return readBody(request, options, (bytes) => {
    if (bytes.length === 0) return bindNothing();
    const json = parseJson(bytes, options.readMaxValues);
    return bind(route, target, json, type === mergePatchType);
  });
}

/** The value of an empty body: an empty message. For any other field, it is not set. */
function emptyBody(body: "*" | DescField | undefined): ExactJson | undefined {
  if (body === "*") return {};
  return body?.fieldKind === "message" && !hasCustomJson(body.message) ? {} : undefined;
}

const streamTypes = ["application/x-ndjson", "application/json"];

/**
 * Reads the messages of a client-streaming call as they arrive: lines of NDJSON, the elements of a
 * JSON array, or the chunks of a google.api.HttpBody. Path and query apply to each message. They
 * are also checked if there is no message, so that a mistake in them is reported. An empty body
 * without a Content-Type has no messages, as in NDJSON.
 */
export async function* readMessages(
  route: Route,
  request: ChunkedRequest,
  target: Target,
): AsyncGenerator<Message> {
  let isEmpty = true;
  for await (const message of readStream(route, request, target)) {
    isEmpty = false;
    yield message;
  }
  if (isEmpty) bind(route, target, undefined);
}

async function* readStream(
  route: Route,
  request: ChunkedRequest,
  target: Target,
): AsyncGenerator<Message> {
  const { binding, options, spec } = route;
  if (binding.body !== undefined && isHttpBody(spec.method.input, binding.body)) {
    for await (const chunk of streamBody(request, options)) {
      yield withHttpBody(route, target, request, chunk);
    }
    return;
  }
  if (!headerOf(request, "content-type")) {
    return await readNothing(request, options, streamTypes, () => {});
  }
  const type = assertMediaType(request, streamTypes);
  const split = type === "application/json" ? splitArray : splitLines;
  const limits = { valueBytesMax: options.readMaxBytes, holding: request.holding };
  for await (const text of split(streamBody(request, options), limits)) {
    yield bind(route, target, parseJson(text, options.readMaxValues));
  }
}

function bind(
  route: Route,
  { segments, query }: Target,
  body: ExactJson | undefined,
  isPatch = false,
): Message {
  const { binding, ignoresParameter, jsonOptions, spec, updateMask } = route;
  const pathValues = binding.variables.map((variable) => {
    const text = captureVariable(binding.template, variable, segments);
    if (text === undefined) {
      const name = jsonPath(variable.path);
      throw badRequest([new FieldViolation(name, "is not percent-encoded UTF-8 in the path")]);
    }
    return { path: variable.path, text };
  });
  const bodyField = binding.body;
  const parts = { pathValues, query, bodyField, body, ignoresParameter, updateMask, isPatch };
  return bindRequest(spec.method.input, parts, jsonOptions);
}

function withHttpBody(
  route: Route,
  target: Target,
  request: Pick<WholeRequest, "headers">,
  data: Uint8Array,
): Message {
  const { binding, spec } = route;
  const message = bind(route, target, undefined);
  const contentType = headerOf(request, "content-type") ?? "";
  const part = binding.body ?? "*";
  setHttpBody(spec.method.input, message, part, { contentType, data });
  return message;
}

/** A body that has no place in the message would be silently lost. */
function assertNoBody(bytes: Uint8Array): void {
  if (bytes.length > 0) throw badRequest([new FieldViolation("", "must not have a body")]);
}
