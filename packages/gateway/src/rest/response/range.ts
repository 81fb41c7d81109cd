/** Byte ranges: RFC 9110 section 14. */
import { Code, type HandlerContext } from "@connectrpc/connect";
import { bytesOf } from "../../http/body.ts";
import type { Response } from "../../http/exchange.ts";
import { RestFailure } from "../error.ts";

/**
 * The part of an answer to a GET that its client asks for. The whole answer where the client has
 * another version, and for several ranges: RFC 9110 section 14.2 allows it.
 *
 * @param whole Its body is not compressed by us.
 * @throws {RestFailure} 416 for a range that begins after the end.
 */
export function partOf(
  whole: Response,
  { requestMethod, requestHeader }: Pick<HandlerContext, "requestMethod" | "requestHeader">,
): Response {
  if (requestMethod !== "GET" && requestMethod !== "HEAD") return whole;
  const bytes = bytesOf(whole.body);
  const size = bytes.length;
  const header = { ...whole.header, "accept-ranges": "bytes" };
  const isAsked = requestMethod === "GET" && isSameVersion(whole, requestHeader.get("if-range"));
  const range = isAsked ? parseRange(requestHeader.get("range") ?? "", size) : undefined;
  // As in Go's net/http: nothing is all of an empty answer.
  if (range === undefined || size === 0) return { ...whole, header };
  const { start, end } = range;
  if (start >= end) {
    const text = `the range must begin before the end, ${size} bytes`;
    throw new RestFailure(416, Code.OutOfRange, text, { "content-range": `bytes */${size}` });
  }
  return {
    status: 206,
    header: {
      ...header,
      "content-range": `bytes ${start}-${end - 1}/${size}`,
      "content-length": end - start,
    },
    body: bytes.subarray(start, end),
  };
}

/** Undefined for anything but one range. The end is exclusive. */
function parseRange(text: string, size: number): { start: number; end: number } | undefined {
  const [, first = "", last = ""] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(text) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") return { start: size - Math.min(Number(last), size), end: size };
  if (last !== "" && Number(last) < Number(first)) return undefined;
  return { start: Number(first), end: last === "" ? size : Math.min(Number(last) + 1, size) };
}

/** If-Range, section 13.1.5: a weak ETag is never the same. */
function isSameVersion({ header }: Response, ifRange: string | null): boolean {
  if (ifRange === null) return true;
  return ifRange === header[ifRange.startsWith('"') ? "etag" : "last-modified"];
}
