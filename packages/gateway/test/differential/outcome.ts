/** All results of a call, in a form that can be compared and printed. */
import { isUtf8 } from "node:buffer";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { parseEnvelopes } from "../support/envelope.ts";
import { base64 } from "./base64.ts";
import type { Field } from "./case.ts";
import type { WireResponse } from "./client.ts";
import { type Observation, withoutPort } from "./observation.ts";

export interface Outcome {
  readonly status: number;
  /** By name; the values of one name in order. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: readonly Piece[];
  readonly trailers: Readonly<Record<string, readonly string[]>>;
  readonly framing: WireResponse["framing"];
  readonly end: string;
  readonly reported: readonly unknown[];
  readonly seen: readonly Observation[];
}

/** A body, or one of its envelopes, decompressed, because compressed bytes say nothing. */
export interface Piece {
  readonly flags?: number;
  readonly compressed: string;
  readonly data: string;
}

/**
 * Ignored: `date`, which depends on the clock, and `transfer-encoding`, which `framing` contains.
 * The order of fields with different names has no meaning (RFC 9110 section 5.3).
 */
const leftOut = new Set(["date", "transfer-encoding"]);

export function outcomeOf(
  response: WireResponse,
  told: {
    readonly isUnanswered: boolean;
    readonly reported: readonly unknown[];
    readonly seen: readonly Observation[];
  },
): Outcome {
  const { status, framing } = response;
  const headers = byName(response.headers);
  const end = told.isUnanswered ? "never answered" : response.end;
  return {
    status,
    headers,
    body: piecesOf(response.body, headers),
    trailers: byName(response.trailers),
    framing,
    end: told.isUnanswered ? "never answered" : end,
    reported: told.reported,
    seen: told.seen,
  };
}

function byName(fields: readonly Field[]): Outcome["headers"] {
  const names = [...new Set(fields.map(([name]) => name))].filter((name) => !leftOut.has(name));
  return Object.fromEntries(
    names
      .toSorted()
      .map((name) => [
        name,
        fields.filter(([other]) => other === name).map(([, value]) => withoutPort(value)),
      ]),
  );
}

function piecesOf(body: Buffer, headers: Outcome["headers"]): Piece[] {
  const type = headers["content-type"]?.[0] ?? "";
  const bytes = type.startsWith("application/grpc-web-text")
    ? base64.decode(body.toString("latin1"))
    : body;
  if (bytes === undefined) return [{ compressed: "not base64", data: textOf(body) }];
  if (/^application\/(grpc|connect\+)/.test(type)) {
    const encoding = headers["grpc-encoding"]?.[0] ?? headers["connect-content-encoding"]?.[0];
    try {
      return parseEnvelopes(bytes).map(({ flags, message }) => ({
        flags,
        ...unpack(message, (flags & 1) === 1 ? (encoding ?? "unknown") : "identity"),
      }));
    } catch {
      return [{ compressed: "not envelopes", data: textOf(body) }];
    }
  }
  if (body.length === 0) return [];
  return [unpack(body, headers["content-encoding"]?.[0] ?? "identity")];
}

function unpack(bytes: Buffer, encoding: string): Piece {
  switch (encoding) {
    case "identity":
      return { compressed: "no", data: textOf(bytes) };
    case "gzip":
      return { compressed: encoding, data: textOf(gunzipSync(bytes)) };
    case "br":
      return { compressed: encoding, data: textOf(brotliDecompressSync(bytes)) };
    default:
      return { compressed: `by what nobody knows: ${encoding}`, data: textOf(bytes) };
  }
}

function textOf(bytes: Buffer): string {
  const isText = isUtf8(bytes) && !/[^\P{C}\r\n]/u.test(bytes.toString());
  return isText ? `text ${bytes.toString()}` : `hex ${bytes.toString("hex")}`;
}
