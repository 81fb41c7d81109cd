/** What can go wrong: the connection, and errors of REST servers, in the forms that are common. */
import type { Registry } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { AnySchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { codeFromString, codeToHttpStatus } from "@connectrpc/connect/protocol-connect";
import { findTrailerError } from "@connectrpc/connect/protocol-grpc";
import { messageFromJson, parseJson } from "../../codec/json-messages.ts";
import { type ExactJson, isJsonObject } from "../../codec/json-text.ts";
import { RestFailure } from "../../errors/http.ts";
import { BodyBuffer } from "../../http/body.ts";

/** The error of a connection that failed, or of a body. Whether the server has processed the call is unknown. */
export function lost(cause: unknown): ConnectError {
  if (cause instanceof ConnectError) return cause;
  // Node's fetch unpacks bodies.
  const inner = cause instanceof Error ? cause.cause : undefined;
  const isOfZlib = inner instanceof Error && "code" in inner && /^Z_/.test(`${inner.code}`);
  const [message, code] = isOfZlib
    ? ["the response cannot be decompressed", Code.Internal]
    : ["the connection failed or was lost", Code.Unavailable];
  return new ConnectError(message, code, undefined, undefined, cause);
}

/** The end of a call aborts its signal, which releases the rest. @throws {ConnectError} if it is cut. */
export async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  for (;;) {
    const chunk = await reader?.read().catch((cause) => Promise.reject(lost(cause)));
    if (chunk?.value === undefined) return;
    yield chunk.value;
  }
}

/** The whole body; of a larger one more than `bytesMax`. @throws {ConnectError} if it is cut. */
export async function readUpTo(response: Response, bytesMax: number): Promise<Uint8Array> {
  const body = new BodyBuffer();
  for await (const chunk of chunksOf(response)) {
    void body.append(chunk);
    if (body.length > bytesMax) break;
  }
  return body.bytes;
}

/** More than the details of an error need: gRPC carries them in headers. */
const errorBytesMax = 64 * 1024;

/** How much is kept of a text that is in no known form. */
const textBytesMax = 4096;

/** The error of a response whose status is none of success. */
export async function readError(response: Response, registry: Registry): Promise<ConnectError> {
  const { status, headers, type } = response;
  // If the body is cut, the status says enough.
  const bytes = await readUpTo(response, errorBytesMax).catch(() => new Uint8Array());
  let json: ExactJson | undefined;
  let said: ConnectError | undefined;
  try {
    said = findTrailerError(headers); // Envoy's transcoder says all there, Armeria's the code alone
    if (said && (said.rawMessage !== "" || bytes.length === 0)) return said;
    json = parseJson(bytes);
  } catch {
    // A page of a proxy, for example.
  }
  const page = new TextDecoder().decode(bytes.subarray(0, textBytesMax)).trim();
  const place = headers.has("location") ? `, to ${headers.get("location")}` : "";
  const what = type === "opaqueredirect" ? "a redirect" : `HTTP ${status}${place}`;
  const text = page === "" ? what : `${what}: ${page}`;
  const error = errorFrom(json, registry, { status, text, exact: said?.code });
  // The page of a proxy in between may set cookies, or allow caches to keep it.
  if (headers.get("content-type")?.startsWith("text/html")) return error;
  for (const [name, value] of headers) error.metadata.append(name.replace(/^trailer-/, ""), value);
  return error;
}

/**
 * The error that JSON says: `google.rpc.Status`, also as the member `error` (of Google's APIs, and of
 * grpc-gateway's streams), `application/problem+json`, or another form with a message.
 */
export function errorFrom(
  json: ExactJson | undefined,
  registry: Registry,
  { status, text, exact }: { status?: number; text: string; exact?: Code | undefined },
): ConnectError {
  const [first] = Array.isArray(json) ? json : [json]; // Google's streams fail so
  const outer = isJsonObject(first) ? first : {};
  const said = isJsonObject(outer["error"]) ? outer["error"] : outer;
  // A summary says no more than the status where a list or an object beside it says what is wrong.
  const saysMore = (one: ExactJson | undefined) =>
    (isJsonObject(one) || Array.isArray(one)) && Object.keys(one).length > 0;
  const isWhole = !Object.values(said).some(saysMore);
  // As in GitHub's and Micronaut's errors. Google's `error` repeats its message there.
  const isSummary = said === outer && (saysMore(said["errors"]) || saysMore(said["_embedded"]));
  const messages = isSummary ? [] : ["message", "msg", "detail", "error_description"];
  const message = [...messages, ...(isWhole ? ["error", "title"] : [])]
    .map((name) => said[name])
    .find((one) => typeof one === "string" && one !== "");
  const code = [said["code"], said["status"], said["error"]]
    .map((one) => parseCode(one, status))
    .find((one) => one !== undefined);
  const ofStatus = typeof said["code"] === "number" ? said["code"] : 500;
  const best = exact ?? code ?? codeOfStatus(status ?? ofStatus);
  const words = `${message ?? text}`;
  // The status of that code is 429, which asks for a retry.
  const error = status === 413 ? new RestFailure(413, best, words) : new ConnectError(words, best);
  const details = Array.isArray(said["details"]) ? said["details"] : [];
  error.details = details.flatMap((one) => parseDetail(one, registry) ?? []);
  error.isWireError = true;
  return error;
}

/** A number counts if it agrees with the HTTP status: services have codes of their own, too. */
function parseCode(json: ExactJson | undefined, status: number | undefined): Code | undefined {
  if (typeof json === "string") {
    return codeFromString(json.toLowerCase().replace("cancelled", "canceled"));
  }
  if (typeof json !== "number" || Code[json] === undefined) return undefined;
  const isSame = status === undefined || `${codeToHttpStatus(json)}`[0] === `${status}`[0];
  return isSame ? json : undefined;
}

/** By https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto. */
function codeOfStatus(status: number): Code {
  const code = codes.find((one) => codeToHttpStatus(one) === (near[status] ?? status));
  return code ?? (status >= 400 && status < 500 ? Code.FailedPrecondition : Code.Unknown);
}

/** One code of each status. */
const codes = [3, 16, 7, 5, 10, 8, 1, 13, 12, 14, 4] satisfies Code[];

/** For statuses that no code has, one that means much the same. */
const near: Record<number, number> = { 405: 501, 408: 504, 410: 404, 413: 429, 422: 400, 502: 503 };

/** A google.protobuf.Any. Of a type that is not known here, its bytes, if they are there. */
function parseDetail(json: ExactJson, registry: Registry) {
  const { "@type": url, value } = isJsonObject(json) ? json : {};
  if (typeof url !== "string") return undefined;
  const type = url.slice(url.lastIndexOf("/") + 1);
  try {
    if (registry.getMessage(type) === undefined) return { type, value: base64Decode(`${value}`) };
    const any = messageFromJson(AnySchema, json, { registry, ignoreUnknownFields: true });
    return { type, value: any.value };
  } catch {
    return undefined; // the code and the message count more
  }
}
