/** A google.api.HttpBody as content: what it is goes by its media type. */
import { base64Encode } from "@bufbuild/protobuf/wire";
import type { HttpBody } from "../../gen/google/api/httpbody_pb.ts";
import { isCompressible as isText } from "../rest/response/answer-coding.ts";
import type { Tool } from "./tool.ts";

export function contentOf({ contentType, data }: HttpBody, { name }: Tool): object {
  const mimeType = contentType || "application/octet-stream";
  if (isText(mimeType)) return { type: "text", text: new TextDecoder().decode(data) };
  const [, type] = /^(image|audio)\//i.exec(mimeType) ?? [];
  if (type !== undefined) return { type: type.toLowerCase(), data: base64Encode(data), mimeType };
  const resource = { uri: `urn:mcp:tool:${name}`, mimeType, blob: base64Encode(data) };
  return { type: "resource", resource };
}
