/** Lists in pages: https://google.aip.dev/158. */
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Binding } from "../rule/rule.ts";

/** The fields by which a method answers page by page. */
export interface Pages {
  readonly token: DescField;
  readonly nextToken: DescField;
}

/** Undefined for a method without pages, and for one that is no GET. */
export function pagesOf(
  { input, output, methodKind }: DescMethod,
  { method, body, variables }: Binding,
): Pages | undefined {
  if (methodKind !== "unary" || method !== "GET" || body !== undefined) return undefined;
  const token = textField(input, "page_token");
  const nextToken = textField(output, "next_page_token");
  const isFree = variables.every(({ path }) => path[0] !== token);
  return token && nextToken && isFree ? { token, nextToken } : undefined;
}

function textField({ fields }: DescMessage, name: string): DescField | undefined {
  const field = fields.find((one) => one.name === name);
  return field?.fieldKind === "scalar" && field.scalar === ScalarType.STRING ? field : undefined;
}

/**
 * Adds a `Link` to the next page, RFC 8288, unless there is none, or the implementation has set
 * links. Its target is only a query, so that it is right behind a proxy that changes paths, too.
 */
export function addNextLink(
  { token, nextToken }: Pages,
  message: MessageShape<DescMessage>,
  { url, responseHeader }: Pick<HandlerContext, "url" | "responseHeader">,
): void {
  const next = (message as unknown as Record<string, unknown>)[nextToken.localName];
  if (typeof next !== "string" || next === "" || responseHeader.has("link")) return;
  const { searchParams } = new URL(url);
  searchParams.delete(token.name);
  searchParams.set(token.jsonName, next);
  responseHeader.set("link", `<?${searchParams}>; rel="next"`);
}
