import type { ConnectError } from "@connectrpc/connect";
import { withMessage } from "./outcome.ts";

/**
 * The maximum size of a message in the trailers, percent-encoded, in bytes. All trailers must fit
 * into what clients accept (8 KiB in some) and what nghttp2 sends (64 KiB).
 */
const encodedBytesMax = 4096;

/** The same error, with its message truncated if it is too long for trailers. */
export function withTrailerMessage(error: ConnectError): ConnectError {
  const { rawMessage } = error;
  if (rawMessage.length * bytesPerCodeUnitMax <= encodedBytesMax) return error;
  let bytes = 0;
  let end = 0;
  for (const character of rawMessage) {
    bytes += encodeURIComponent(character).length;
    if (bytes > encodedBytesMax) return withMessage(error, `${rawMessage.slice(0, end)}…`);
    end += character.length;
  }
  return error;
}

/** Three bytes of UTF-8, each of them percent-encoded. */
const bytesPerCodeUnitMax = 9;
