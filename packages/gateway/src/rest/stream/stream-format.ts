/** The format of a stream of messages in a response body. */
import { parsePreferences } from "../response/answer-coding.ts";

/** A way to write a sequence of messages. An error comes last. */
export interface StreamFormat {
  readonly contentType: string;
  /** Other headers of such an answer. */
  readonly header?: Readonly<Record<string, string>>;
  /** Written before the first message. */
  readonly open: string;
  /** Written after the last message. */
  readonly close: string;
  message(json: string, index: number): string;
  error(json: string, index: number): string;
}

const ndjson: StreamFormat = {
  contentType: "application/x-ndjson",
  open: "",
  close: "",
  message: (json) => `${json}\n`,
  error: (json) => `{"error":${json}}\n`,
};

/** Server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html. */
const serverSentEvents: StreamFormat = {
  contentType: "text/event-stream",
  // Of nginx: it would keep events until it has a buffer full of them.
  header: { "cache-control": "no-store", "x-accel-buffering": "no" },
  open: "",
  close: "",
  message: (json) => `data: ${json}\n\n`,
  error: (json) => `event: error\ndata: ${json}\n\n`,
};

const jsonArray: StreamFormat = {
  contentType: "application/json",
  open: "[",
  close: "]\n",
  message: (json, index) => `${index === 0 ? "" : ",\n"}${json}`,
  error: (json, index) => `${index === 0 ? "" : ",\n"}{"error":${json}}`,
};

export type StreamFormatName = "ndjson" | "sse" | "array";

const formats: Readonly<Record<StreamFormatName, StreamFormat>> = {
  ndjson,
  sse: serverSentEvents,
  array: jsonArray,
};

/**
 * The format that the client prefers (RFC 9110 section 12.5.1).
 *
 * @param accept The Accept header.
 * @param byDefault For a client that accepts anything, or none of our formats.
 */
export function chooseStreamFormat(
  accept: string | null,
  byDefault: StreamFormatName,
): StreamFormat {
  const qualities = parsePreferences(accept ?? "");
  let best = { format: formats[byDefault], quality: 0 };
  for (const format of [formats[byDefault], ...Object.values(formats)]) {
    const quality = qualities.get(format.contentType) ?? 0;
    if (quality > best.quality) best = { format, quality };
  }
  return best.format;
}
