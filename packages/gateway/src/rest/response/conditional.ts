/** ETags (RFC 9110 sections 8.8.3 and 13.1.2), and byte ranges (section 14). */
import { base64Encode } from "@bufbuild/protobuf/wire";
import { Code, type HandlerContext } from "@connectrpc/connect";
import { RestFailure } from "../../errors/http-error.ts";
import { type Body, bytesOf } from "../../http/body.ts";
import type { Response } from "../../http/exchange.ts";
import type { HeaderRecord } from "../../http/headers.ts";
import { isCompressible } from "./answer-coding.ts";

type RequestContext = Pick<HandlerContext, "requestMethod" | "requestHeader">;

/**
 * Adds an ETag to the answer to a GET or HEAD, unless the implementation has set one.
 *
 * @param header The headers of the answer.
 * @param body The body before compression.
 * @returns whether the client already has this answer.
 */
export async function isKnown(
  { requestMethod, requestHeader }: RequestContext,
  header: HeaderRecord,
  body: Body,
): Promise<boolean> {
  if (requestMethod !== "GET" && requestMethod !== "HEAD") return false;
  header["etag"] ??= await entityTagOf(body, isCompressible(String(header["content-type"] ?? "")));
  const known = requestHeader.get("if-none-match");
  return known !== null && includesTag(known, String(header["etag"]));
}

/** A weak ETag, if the body may be compressed: it is the same for all codings, whose bytes differ. */
async function entityTagOf(body: Body, isWeak: boolean): Promise<string> {
  const bytes = bytesOf(body) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `${isWeak ? "W/" : ""}"${base64Encode(digest, "url").slice(0, 22)}"`; // 132 bits
}

/** By weak comparison, section 8.8.3.2. */
function includesTag(list: string, tag: string): boolean {
  if (list.trim() === "*") return true;
  const opaque = tag.replace(/^W\//, "");
  return list.match(/"[^"]*"/g)?.includes(opaque) ?? false;
}

/**
 * The part of an answer to a GET that its client asks for. The whole answer where the client has
 * another version, and for several ranges: RFC 9110 section 14.2 allows it.
 *
 * @param whole Its body is not compressed by us.
 * @throws {RestFailure} 416 for a range that begins after the end.
 */
export function partOf(
  whole: Response,
  { requestMethod, requestHeader }: RequestContext,
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
