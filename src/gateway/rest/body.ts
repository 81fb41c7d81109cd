import { Code, ConnectError } from "@connectrpc/connect";
import type { UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { Endpoint } from "../endpoint.ts";
import { RestFailure } from "./error.ts";

type ReadLimits = Pick<Endpoint["options"], "readMaxBytes" | "acceptCompression">;

/** A request whose body is read whole. */
export interface WholeRequest {
  readonly header: Pick<Headers, "get">;
  /** @throws {ConnectError} RESOURCE_EXHAUSTED above `bytesMax`. */
  readonly readBytes: (bytesMax: number) => Promise<Uint8Array>;
}

/**
 * Reads a whole body.
 *
 * @returns The bytes, decompressed.
 * @throws {RestFailure} 413 above `readMaxBytes` (compressed or not), 415 for
 * an unknown content coding.
 */
export async function readBody(
  request: WholeRequest,
  { readMaxBytes: limit, acceptCompression }: ReadLimits,
): Promise<Uint8Array> {
  const coding = negotiateCoding(request.header.get("content-encoding"), acceptCompression);
  if (Number(request.header.get("content-length")) > limit) throw tooLarge(limit);
  try {
    const bytes = await request.readBytes(limit);
    return coding === undefined ? bytes : await coding.decompress(bytes, limit);
  } catch (error) {
    const isTooLarge = error instanceof ConnectError && error.code === Code.ResourceExhausted;
    throw isTooLarge ? tooLarge(limit) : error;
  }
}

/** The body as it arrives. @throws {RestFailure} 415 for a content coding. */
export function streamBody(request: UniversalServerRequest): AsyncIterable<Uint8Array> {
  negotiateCoding(request.header.get("content-encoding"), []);
  return bodyOf(request);
}

/**
 * @param types The media types that are taken, without parameters.
 * @returns The one that the request names.
 * @throws {RestFailure} 415 for another, and for a charset other than UTF-8.
 */
export function assertMediaType(
  { header }: Pick<WholeRequest, "header">,
  types: readonly string[],
): string {
  const contentType = header.get("content-type") ?? "";
  if (types.includes(contentType)) return contentType;
  const [type = "", ...parameters] = contentType.split(";").map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset=("utf-8"|utf-8)$/i.test(charset));
  const found = types.find((known) => known === type.toLowerCase());
  if (found !== undefined && isUtf8) return found;
  throw new RestFailure(
    415,
    Code.InvalidArgument,
    `Content-Type must be ${types.join(" or ")}, in UTF-8`,
    { accept: types.join(", ") },
  );
}

/** An adapter may bring a body as JSON that it has parsed; ours does not. */
export function bodyOf(request: UniversalServerRequest): AsyncIterable<Uint8Array> {
  return request.body as AsyncIterable<Uint8Array>;
}

function negotiateCoding(coding: string | null, available: ReadLimits["acceptCompression"]) {
  if (coding === null || coding.toLowerCase() === "identity") return undefined;
  const found = available.find((compression) => compression.name === coding.toLowerCase());
  if (found !== undefined) return found;
  const names = ["identity", ...available.map((compression) => compression.name)].join(", ");
  // RFC 7694 section 3: a 415 for the coding lists the codings that are accepted.
  throw new RestFailure(415, Code.InvalidArgument, `Content-Encoding must be one of ${names}`, {
    "accept-encoding": names,
  });
}

function tooLarge(limit: number): RestFailure {
  return new RestFailure(
    413,
    Code.ResourceExhausted,
    `the body must not be larger than ${limit} bytes`,
  );
}
