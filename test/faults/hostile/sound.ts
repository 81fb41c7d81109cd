/**
 * What a valid HTTP request asks for, read by independent rules and without the server's code. A
 * plant that was stored for anything else was wrongly accepted.
 */
import { gunzipSync } from "node:zlib";
import { type Envelope, parseEnvelopes } from "../../../packages/gateway/test/support/envelope.ts";
import { schema } from "../../../src/server/settings.ts";
import { knownToken } from "../../support/test-server.ts";
import type { TestPlant } from "../history/check.ts";
import type { ContentAttack } from "./attack.ts";
import { readJsonPlant } from "./sound-json.ts";
import { readProtobufPlant } from "./sound-protobuf.ts";

/** Messages by themselves, and those in envelopes. */
const types = /^application\/(?:(json|proto)|grpc(-web)?(?:\+(json|proto))?)$/;
/** Headers that do not change the request, and the known codings. */
const knownHeaders = ["authorization", "content-type", "content-encoding", "grpc-encoding", "te"];
const bytesMax = schema.limits.bodyBytesMax.default;

/** @returns The plant; undefined if no server may accept the request. */
export function readSound({ path, headers, body, isBomb }: ContentAttack): TestPlant | undefined {
  if (isBomb === true) return undefined;
  const { "content-type": type = "", "content-encoding": coding, "grpc-encoding": inner } = headers;
  if (Object.keys(headers).some((name) => !knownHeaders.includes(name))) return undefined;
  if ([coding, inner].some((one) => one !== undefined && one !== "gzip")) return undefined;
  if (headers["authorization"] !== `Bearer ${knownToken}`) return undefined;
  const [known, plain, web, wrapped = "proto"] = types.exec(type) ?? [];
  const isRest = path === "/plants";
  if (known === undefined || (isRest && plain !== "json")) return undefined;
  const isEnveloped = plain === undefined;
  if (isEnveloped && coding !== undefined) return undefined;
  const message = isEnveloped ? unwrap(body, web !== undefined, inner) : unpack(body, coding);
  if (message === undefined || message.length > bytesMax) return undefined;
  if (isRest) return readJsonPlant(message, "rest");
  return (plain ?? wrapped) === "json" ? readJsonPlant(message, "rpc") : readProtobufPlant(message);
}

function unpack(bytes: Buffer, coding: string | undefined): Buffer | undefined {
  if (coding === undefined) return bytes;
  if (bytes.length > bytesMax) return undefined;
  try {
    return gunzipSync(bytes, { maxOutputLength: bytesMax });
  } catch {
    return undefined;
  }
}

/**
 * The message of exactly one envelope. gRPC-Web may have an end after it. Unknown flags are
 * ignored, as in connect-es.
 */
function unwrap(body: Buffer, isWeb: boolean, coding: string | undefined): Buffer | undefined {
  let envelopes: readonly Envelope[];
  try {
    envelopes = parseEnvelopes(body);
  } catch {
    return undefined; // half a head
  }
  const bytes = envelopes.reduce((sum, { message }) => sum + 5 + message.length, 0);
  const [only, ...more] = envelopes.filter(({ flags }) => (flags & (isWeb ? 0x80 : 0)) === 0);
  if (bytes !== body.length || only === undefined || more.length > 0) return undefined;
  if ((only.flags & 1) === 0) return only.message;
  return coding === undefined ? undefined : unpack(only.message, coding);
}
