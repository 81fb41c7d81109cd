/** ETags: RFC 9110 sections 8.8.3 and 13.1.2. */
import { base64Encode } from "@bufbuild/protobuf/wire";
import type { HandlerContext } from "@connectrpc/connect";
import { type Body, bytesOf } from "../../http/body.ts";
import type { HeaderRecord } from "../../http/headers.ts";

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
  header["etag"] ??= await entityTagOf(body);
  const known = requestHeader.get("if-none-match");
  return known !== null && includesTag(known, String(header["etag"]));
}

/** Weak, because it is the same for all codings, whose bytes differ. */
async function entityTagOf(body: Body): Promise<string> {
  const bytes = bytesOf(body) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `W/"${base64Encode(digest, "url").slice(0, 22)}"`; // 132 bits
}

/** By weak comparison, section 8.8.3.2. */
function includesTag(list: string, tag: string): boolean {
  if (list.trim() === "*") return true;
  const opaque = tag.replace(/^W\//, "");
  return list.match(/"[^"]*"/g)?.includes(opaque) ?? false;
}
