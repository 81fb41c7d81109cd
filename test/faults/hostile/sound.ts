/**
 * What a valid HTTP request asks for, read by independent rules and without the server's code. A
 * plant that was stored for anything else was wrongly accepted.
 */
import { gunzipSync } from "node:zlib";
import { type Envelope, parseEnvelopes } from "../../../packages/gateway/test/support/envelope.ts";
import { schema } from "../../../src/server/settings.ts";
import { knownToken } from "../../support/test-server.ts";
import type { TestPlant } from "../history/history.ts";
import type { ContentAttack } from "./attack.ts";
import { readJsonPlant } from "./sound-json.ts";
import { readProtobufPlant } from "./sound-protobuf.ts";

type Reader = (message: Buffer) => TestPlant | undefined;

const readRest: Reader = (message) => readJsonPlant(message, "rest");
const readRpc: Reader = (message) => readJsonPlant(message, "rpc");

/** By content type. Those of another path, and all others, are invalid. */
const readers: Readonly<Record<string, Reader>> = {
  "application/json": readRpc,
  "application/proto": readProtobufPlant,
  "application/grpc": readProtobufPlant,
  "application/grpc+proto": readProtobufPlant,
  "application/grpc+json": readRpc,
  "application/grpc-web": readProtobufPlant,
  "application/grpc-web+proto": readProtobufPlant,
  "application/grpc-web+json": readRpc,
};

/** Headers that do not change the request, and the known codings. */
const knownHeaders = ["authorization", "content-type", "content-encoding", "grpc-encoding", "te"];

/** @returns The plant; undefined if no server may accept the request. */
export function readSound({ path, headers, body, isBomb }: ContentAttack): TestPlant | undefined {
  if (isBomb === true) return undefined;
  const { "content-type": type = "", "content-encoding": coding, "grpc-encoding": inner } = headers;
  if (Object.keys(headers).some((name) => !knownHeaders.includes(name))) return undefined;
  if ([coding, inner].some((one) => one !== undefined && one !== "gzip")) return undefined;
  if (headers["authorization"] !== `Bearer ${knownToken}`) return undefined;
  const isRest = path === "/plants";
  if (isRest && type !== "application/json") return undefined;
  const read = isRest ? readRest : readers[type];
  if (read === undefined) return undefined;
  const isEnveloped = type.startsWith("application/grpc");
  if (isEnveloped && coding !== undefined) return undefined;
  const message = isEnveloped ? unwrap(body, { type, coding: inner }) : unpack(body, coding);
  if (message === undefined || message.length > schema.limits.bodyBytesMax.default)
    return undefined;
  return read(message);
}

function unpack(bytes: Buffer, coding: string | undefined): Buffer | undefined {
  if (coding === undefined) return bytes;
  if (bytes.length > schema.limits.bodyBytesMax.default) return undefined;
  try {
    return gunzipSync(bytes, { maxOutputLength: schema.limits.bodyBytesMax.default });
  } catch {
    return undefined;
  }
}

/**
 * The message of exactly one envelope. gRPC-Web may have an end after it. Unknown flags are
 * ignored, as in connect-es.
 */
function unwrap(body: Buffer, { type, coding }: Wrapping): Buffer | undefined {
  const endFlag = type.startsWith("application/grpc-web") ? 0x80 : 0;
  let envelopes: readonly Envelope[];
  try {
    envelopes = parseEnvelopes(body);
  } catch {
    return undefined; // half a head
  }
  const bytes = envelopes.reduce((sum, { message }) => sum + 5 + message.length, 0);
  const [only, ...more] = envelopes.filter(({ flags }) => (flags & endFlag) === 0);
  if (bytes !== body.length || only === undefined || more.length > 0) return undefined;
  if ((only.flags & 1) === 0) return only.message;
  return coding === undefined ? undefined : unpack(only.message, coding);
}

interface Wrapping {
  readonly type: string;
  readonly coding: string | undefined;
}
