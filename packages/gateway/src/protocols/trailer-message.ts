import type { ConnectError } from "@connectrpc/connect";
import { withMessage } from "../call/outcome.ts";

/**
 * The most that a message may take of the trailers, percent-encoded, in bytes: beside all else that is in
 * them, they have to fit into what clients take (8 KiB in some) and what nghttp2 sends (64 KiB).
 */
const encodedBytesMax = 4096;

/** The same error; one whose message is too long for trailers has it cut. */
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
