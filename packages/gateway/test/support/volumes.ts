/** CreateVolume of a test service, as bytes on the wire. */
import { fieldBlock, flag, frame, frameType } from "./frames.ts";

export const createPath = "/v1/shelves/a/volumes";
export const createRpcPath = "/library.v1.CatalogService/CreateVolume";

/** A volume, which is also the answer. */
export const volume = '{"id":1,"title":"Emma"}';
export const answer = '{"name":"shelves/a/volumes/1","id":"1","title":"Emma"}';

/** The request that creates it, for `exchange`. */
export const createRequest = {
  path: createPath,
  headers: { "content-type": "application/json" },
  body: volume,
} as const;

/** The same for RPC: JSON over Connect. */
export const rpcVolume = `{"parent":"shelves/a","volume":${volume}}`;

/** A request over HTTP/1.1 or 1.0. */
export function post(
  body: string,
  { line = `POST ${createPath} HTTP/1.1`, more = "Host: a\r\n", type = "application/json" } = {},
): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}\r\n`;
  return `${line}\r\n${more}Content-Type: ${type}\r\n${length}\r\n${body}`;
}

type Field = readonly [name: string, value: string];

/** The headers of an HTTP/2 request. */
export function headers(
  streamId: number,
  {
    flags = flag.endHeaders,
    path = createPath,
    type = "application/json",
    more = [],
  }: { flags?: number; path?: string; type?: string; more?: readonly Field[] } = {},
): Buffer {
  const payload = fieldBlock([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", "a"],
    ["content-type", type],
    ...more,
  ]);
  return frame(frameType.headers, { flags, streamId, payload });
}

/** A piece of its body; by default the last one. */
export function data(
  streamId: number,
  content: string | Uint8Array,
  flags: number = flag.endStream,
): Buffer {
  return frame(frameType.data, { flags, streamId, payload: Buffer.from(content as string) });
}
