/** The format of a stream of messages in a response body. */
import { type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { Message } from "../../rpc/call.ts";
import { parsePreferences } from "../response/answer-coding.ts";

export interface StreamFormat {
  readonly contentType: string;
  readonly header?: Readonly<Record<string, string>>;
  /** @param id Names the message, for a client that wants those after it. */
  message(json: string, index: number, id?: string): string;
  /** Written after the last message. @param count How many there were. */
  close(count: number): string;
  /** Written instead if the stream ends by an error. */
  error(json: string, index: number): string;
  /** A comment that readers ignore, to write while there are no messages; undefined if the format has none. */
  readonly comment?: string;
}

const ndjson: StreamFormat = {
  contentType: "application/x-ndjson",
  message: (json) => `${json}\n`,
  close: () => "",
  error: (json) => `{"error":${json}}\n`,
};

/** Server-sent events, https://html.spec.whatwg.org/multipage/server-sent-events.html. */
export const serverSentEvents = {
  contentType: "text/event-stream",
  // For proxies that keep events until they have enough to compress, and for nginx and its buffer.
  header: { "cache-control": "no-store, no-transform", "x-accel-buffering": "no" },
  message: (json: string, _index: number, id?: string) =>
    `${id === undefined ? "" : `id: ${id}\n`}data: ${json}\n\n`,
  // An EventSource calls again when an answer ends, unless its page closes it. Spring's WebClient reads
  // the data of each event as JSON.
  close: () => "event: end\ndata: null\n\n",
  error: (json: string) => `event: error\ndata: ${json}\n\n`,
  comment: ":\n\n",
} satisfies StreamFormat;

const jsonArray: StreamFormat = {
  contentType: "application/json",
  message: (json, index) => `${index === 0 ? "[" : ",\n"}${json}`,
  close: (count) => (count === 0 ? "[]\n" : "]\n"),
  error: (json, index) => `${index === 0 ? "[" : ",\n"}{"error":${json}}]\n`,
};

const formats = { ndjson, sse: serverSentEvents as StreamFormat, array: jsonArray };

export type StreamFormatName = keyof typeof formats;

/** The format that the client prefers (RFC 9110 section 12.5.1), or the default. */
export function chooseStreamFormat(
  accept: string | null,
  byDefault: StreamFormatName,
): StreamFormat {
  const qualities = parsePreferences(accept ?? "");
  let best = { format: formats[byDefault], quality: 0 };
  for (const format of [formats[byDefault], ...Object.values(formats)]) {
    const { contentType } = format;
    // The most specific range counts; of equals, the format with the more specific one.
    const ranges = [contentType, contentType.replace(/\/.*/, "/*"), "*/*"];
    const at = ranges.findIndex((range) => qualities.has(range));
    const quality = (qualities.get(ranges[at] ?? "") ?? 0) - Math.max(at, 0) / 10_000;
    if (quality > best.quality) best = { format, quality };
  }
  return best.format;
}

/**
 * The id of a server-sent event, which browsers send as `Last-Event-ID` when they connect again: the
 * value of a field; undefined if it is not set or cannot be an id.
 */
export function eventId(
  fieldName: string,
  output: DescMessage,
  message: Message,
): string | undefined {
  const field = output.fields.find(({ name }) => name === fieldName);
  if (field?.fieldKind !== "scalar" || field.scalar === ScalarType.BYTES) return undefined;
  const reflected = reflect(output, message);
  const id = reflected.isSet(field) ? String(reflected.get(field)) : "";
  return /^[^\0\r\n]+$/.test(id) ? id : undefined;
}
