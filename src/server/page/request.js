/** The one operation in the three protocols that a browser can send. Siblings of one shape. */

import { escapeDirections, quoteText } from "./text.js";
import { decodeResponse, encodeRequest, joinParts } from "./wire.js";

/** JSON's integers (RFC 8259 section 6). */
const integer = /^-?(0|[1-9][0-9]*)$/;

/** The id is as typed: numbers round above 2^53. Other text makes the service explain the error. */
export function createBody({ id, ...texts }) {
  const members = id === "" ? [] : [`"id": ${integer.test(id) ? id : quoteText(id)}`];
  for (const [field, text] of Object.entries(texts)) {
    if (field === "name" || text !== "") members.push(`"${field}": ${quoteText(text)}`);
  }
  return `{${members.join(", ")}}`;
}

export const rpcPath = "plantstore.v1.PlantService/CreatePlant";

export const protocols = {
  rest: {
    name: "REST",
    path: "plants",
    headers: { "content-type": "application/json" },
    encode: (plant) => createBody(plant),
    decode(response, bytes) {
      const text = new TextDecoder().decode(bytes);
      const { error, message } = parseJson(text);
      return { body: escapeDirections(text), code: response.ok ? 0 : error, message };
    },
  },
  connect: {
    name: "Connect",
    path: rpcPath,
    headers: { "content-type": "application/json", "connect-protocol-version": "1" },
    encode: (plant) => `{"plant": ${createBody(plant)}}`,
    decode(response, bytes) {
      const text = new TextDecoder().decode(bytes);
      const { code, message } = parseJson(text);
      const number = Object.entries(codeNames).find(([, name]) => name === code?.toUpperCase?.());
      const status = response.ok ? 0 : number && Number(number[0]);
      return { body: escapeDirections(text), code: status, message };
    },
  },
  "grpc-web": {
    name: "gRPC-Web",
    path: rpcPath,
    headers: { "content-type": "application/grpc-web+proto", "x-grpc-web": "1" },
    encode: encodeRequest,
    decode(response, bytes, numbers) {
      const { parts, trailers } = decodeResponse(bytes, numbers);
      // Without a body, the trailers are headers.
      const find = (name) => trailers.get(name) ?? response.headers.get(name);
      const status = find("grpc-status");
      const message = decodeURIComponent(find("grpc-message") ?? "");
      return { body: parts, code: status === null ? undefined : Number(status), message };
    },
  },
};

/** For `fetch`: text as it is, parts as their bytes. */
export function toBytes(body) {
  return typeof body === "string" ? body : joinParts(body);
}

function parseJson(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
export const codeNames = {
  0: "OK",
  1: "CANCELED",
  2: "UNKNOWN",
  3: "INVALID_ARGUMENT",
  4: "DEADLINE_EXCEEDED",
  5: "NOT_FOUND",
  6: "ALREADY_EXISTS",
  7: "PERMISSION_DENIED",
  8: "RESOURCE_EXHAUSTED",
  12: "UNIMPLEMENTED",
  13: "INTERNAL",
  14: "UNAVAILABLE",
  16: "UNAUTHENTICATED",
};

/** The field of the form that an error is about; undefined if it is about none. */
export function fieldOf(code, message = "") {
  if (code === 6) return "id";
  if (code === 7 || code === 16) return "token";
  return /^(\w+) /.exec(message)?.[1];
}
