import { Code, ConnectError } from "@connectrpc/connect";
import { readAllBytes, type UniversalServerRequest } from "@connectrpc/connect/protocol";
import type { Endpoint } from "../endpoint.ts";
import { RestFailure } from "./error.ts";

/**
 * Reads a JSON body.
 *
 * @returns The bytes, decompressed.
 * @throws {RestFailure} 413 above `readMaxBytes` (compressed or not), 415 for
 * another media type, charset or content coding.
 */
export async function readJsonBody(
  request: UniversalServerRequest,
  options: Pick<Endpoint["options"], "readMaxBytes" | "acceptCompression">,
): Promise<Uint8Array> {
  assertJson(request.header.get("content-type"));
  const compression = negotiate(request.header.get("content-encoding"), options.acceptCompression);
  const limit = options.readMaxBytes;
  if (Number(request.header.get("content-length")) > limit) throw tooLarge(limit);
  try {
    const bytes = await readAllBytes(request.body as AsyncIterable<Uint8Array>, limit, null);
    return compression === undefined ? bytes : await compression.decompress(bytes, limit);
  } catch (error) {
    const isTooLarge = error instanceof ConnectError && error.code === Code.ResourceExhausted;
    throw isTooLarge ? tooLarge(limit) : error;
  }
}

function assertJson(contentType: string | null): void {
  const [type = "", ...parameters] = (contentType ?? "").split(";").map((part) => part.trim());
  const charsets = parameters.filter((parameter) => /^charset=/i.test(parameter));
  const isUtf8 = charsets.every((charset) => /^charset=("utf-8"|utf-8)$/i.test(charset));
  if (type.toLowerCase() !== "application/json" || !isUtf8) {
    throw new RestFailure(
      415,
      Code.InvalidArgument,
      "Content-Type must be application/json, in UTF-8",
      { accept: "application/json" },
    );
  }
}

function negotiate(coding: string | null, available: Endpoint["options"]["acceptCompression"]) {
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
