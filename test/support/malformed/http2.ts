/** Requests that violate HTTP/2 itself, frame by frame. */
import { Code } from "@connectrpc/connect";
import {
  type Frame,
  flag,
  frame,
  frameType,
  headersFrame,
} from "../../../packages/gateway/test/support/frames.ts";
import { knownToken } from "../test-server.ts";

export type Field = readonly [name: string, value: string];

export const right: readonly Field[] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/plants"],
  [":authority", "a"],
  ["authorization", `Bearer ${knownToken}`],
  ["content-type", "application/json"],
];
export const plant = Buffer.from('{"id":1,"name":"Basil"}');

/** Valid fields, with these replacing those of the same name; null removes one. */
export function fields(other: Readonly<Record<string, string | null>>): Field[] {
  const kept = right.map(([name, value]) => [name, name in other ? other[name] : value] as const);
  const added = Object.entries(other).filter(([name]) => !right.some(([known]) => known === name));
  return [...kept, ...added].flatMap(([name, value]) => (value == null ? [] : [[name, value]]));
}

export function request(block: readonly Field[], streamId = 1): Buffer {
  return Buffer.concat([
    headersFrame(streamId, block),
    frame(frameType.data, { flags: flag.endStream, streamId, payload: plant }),
  ]);
}

/** Whether a frame from the server ends an answer, or the connection. */
export function isEnd({ type, flags }: Frame): boolean {
  if (type === frameType.data || type === frameType.headers) return (flags & flag.endStream) !== 0;
  return type === frameType.rstStream || type === frameType.goaway;
}

/** Fields that are answered with an error body. */
export const answered: readonly [what: string, block: readonly Field[], error: Code][] = [
  [":authority [", fields({ ":authority": "[" }), Code.InvalidArgument],
  ["a :method in small letters", fields({ ":method": "post" }), Code.Unimplemented],
  ["a :path that is not served", fields({ ":path": "/plants/../plants" }), Code.NotFound],
  ["a token that is unknown", fields({ authorization: "Bearer x" }), Code.Unauthenticated],
  ["an expectation that nobody knows", fields({ expect: "more" }), Code.InvalidArgument],
];

/** Fields that cause a stream reset. */
export const reset: readonly (readonly [what: string, block: readonly Field[]])[] = [
  ["no :scheme", fields({ ":scheme": null })],
  ["no :path", fields({ ":path": null })],
  ["no :authority and no host", fields({ ":authority": null })],
  ["a :path with U+0000", fields({ ":path": "/pla\0nts" })],
  ["two hosts", [...fields({ ":authority": null }), ["host", "a"], ["host", "b"]] as Field[]],
  ["a pseudo header that is unknown", [[":plant", "x"] as const, ...right]],
  ["a field name in capitals", fields({ "X-Plant": "x" })],
  ["a connection header", fields({ connection: "close" })],
  ["another te than trailers", fields({ te: "gzip" })],
];

/** Bytes that cause the end of the connection. */
export const ending: readonly (readonly [what: string, bytes: Buffer])[] = [
  ["a block of fields that is garbage", garbage(frameType.headers, 1)],
  ["data on a stream that is not open", frame(frameType.data, { streamId: 1, payload: plant })],
  ["headers on stream 0", garbage(frameType.headers, 0)],
  ["a frame over the limit", frame(0, { streamId: 1, payload: Buffer.alloc(20_000) })],
  ["settings of an odd length", frame(frameType.settings, { payload: Buffer.alloc(5) })],
  ["a window of 0", frame(frameType.windowUpdate, { payload: Buffer.alloc(4) })],
  ["HTTP/1.1 behind the preface", Buffer.from("POST /plants HTTP/1.1\r\nHost: a\r\n\r\n")],
];

function garbage(type: number, streamId: number): Buffer {
  return frame(type, { flags: flag.endHeaders, streamId, payload: Buffer.alloc(6, 0xff) });
}
