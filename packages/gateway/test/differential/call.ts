/** One call as it is sent: by every protocol, kind of method, codec and version of HTTP. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import { setImmediate } from "node:timers/promises";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { type DescMethod, fromJson, toBinary } from "@bufbuild/protobuf";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";

export type Field = readonly [name: string, value: string];

/** The way of a call. Codecs alternate with what watches it: see side.ts. */
export interface Door {
  readonly protocol: "connect" | "get" | "grpc" | "grpc-web";
  readonly kind: DescMethod["methodKind"];
  readonly http: "1.1" | "2";
  readonly codec: "proto" | "json";
}

const kinds = ["server_streaming", "client_streaming", "bidi_streaming"] as const;

export const doors: readonly Door[] = [
  ...(["connect", "get", "grpc", "grpc-web"] as const).flatMap((protocol) =>
    (["1.1", "2"] as const).flatMap((version) =>
      (["proto", "json"] as const).map(
        (codec) => ({ protocol, kind: "unary", http: version, codec }) as const,
      ),
    ),
  ),
  ...(["connect", "grpc", "grpc-web"] as const).flatMap((protocol) => [
    ...kinds.map((kind) => ({ protocol, kind, http: "2", codec: "proto" }) as const),
    { protocol, kind: "server_streaming", http: "1.1", codec: "json" } as const,
  ]),
];

/** What is not usual about a call. */
export interface Call {
  /** Default: the string `a`. */
  readonly message?: Readonly<Record<string, unknown>>;
  /** Instead of the message's bytes. */
  readonly bytes?: Uint8Array | string;
  readonly packed?: "gzip" | "br";
  /**
   * `@encoding`, `@accept` and `@timeout` stand for the names that the protocol has. Null leaves one
   * of the protocol out, a list sends it repeatedly.
   */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly timeoutMs?: number;
  /** Instead of the body; several are chunks, each in a turn of its own. */
  readonly body?: readonly Uint8Array[];
  readonly method?: string;
  readonly path?: string;
  /** Of a GET: more of its query, or all of it. */
  readonly query?: Readonly<Record<string, string>> | string;
  /** The client leaves when the implementation runs: over HTTP/2, with this code. */
  readonly leaves?: number;
}

export const service = "/library.v1.FieldService";
const methods = {
  unary: "Echo",
  server_streaming: "Repeat",
  client_streaming: "Collect",
  bidi_streaming: "Exchange",
} as const;

export const isUnary = ({ kind }: Door): boolean => kind === "unary";
export const isGet = ({ protocol }: Door): boolean => protocol === "get";
export const isGrpc = ({ protocol }: Door): boolean => protocol.startsWith("grpc");
export const isEnveloped = (door: Door): boolean =>
  isGrpc(door) || (door.protocol === "connect" && !isUnary(door));

export interface WireRequest {
  readonly http?: string;
  readonly method: string;
  readonly path: string;
  readonly headers: readonly Field[];
  readonly body: readonly Uint8Array[];
  readonly leaves?: Call["leaves"];
}

export function requestOf(door: Door, call: Call): WireRequest {
  const { kind, codec } = door;
  const { message = { string: "a" }, packed, path = `${service}/${methods[kind]}` } = call;
  const json = JSON.stringify(message);
  const plain = call.bytes ?? (codec === "json" ? json : binaryOf(json));
  const bytes = pack(Buffer.from(plain as Uint8Array), packed);
  const one = isEnveloped(door) ? envelope(bytes, packed ? 1 : 0) : bytes;
  const twice = kind === "client_streaming" || kind === "bidi_streaming";
  const query = isGet(door) ? `?${queryOf(door, call, bytes)}` : "";
  return {
    ...{ method: call.method ?? (isGet(door) ? "GET" : "POST"), path: path + query },
    headers: headersOf(door, call),
    body: isGet(door) ? [] : (call.body ?? [twice ? Buffer.concat([one, one]) : one]),
    ...(call.leaves !== undefined && { leaves: call.leaves }),
  };
}

function binaryOf(json: string): Uint8Array {
  return toBinary(EveryFieldSchema, fromJson(EveryFieldSchema, JSON.parse(json)));
}

function pack(bytes: Buffer, packed: Call["packed"]): Buffer {
  if (packed === undefined) return bytes;
  return packed === "gzip" ? gzipSync(bytes) : brotliCompressSync(bytes);
}

function queryOf({ codec }: Door, { query = {}, packed }: Call, bytes: Buffer): string {
  if (typeof query === "string") return query;
  const isText = codec === "json" && packed === undefined;
  return new URLSearchParams({
    encoding: codec,
    ...(isText ? {} : { base64: "1" }),
    message: isText ? bytes.toString() : bytes.toString("base64url"),
    ...(packed && { compression: packed }),
    ...query,
  }).toString();
}

function headersOf(door: Door, { headers = {}, packed, timeoutMs }: Call): Field[] {
  const { protocol, codec } = door;
  const isStream = protocol === "connect" && !isUnary(door);
  const prefix = isGrpc(door) ? "grpc-" : isStream ? "connect-" : "";
  const names: Readonly<Record<string, string>> = {
    "@encoding": `${prefix}${isGrpc(door) ? "" : "content-"}encoding`,
    "@accept": `${prefix}accept-encoding`,
    "@timeout": isGrpc(door) ? "grpc-timeout" : "connect-timeout-ms",
  };
  const type = isGrpc(door) ? `${protocol}+${codec}` : `${isStream ? "connect+" : ""}${codec}`;
  const all = {
    ...(door.http === "1.1" && { host: "example.test" }),
    ...(isGet(door) ? {} : { "content-type": `application/${type}` }),
    ...(protocol === "grpc" && { te: "trailers" }),
    ...(packed && !isGet(door) && { "@encoding": packed }),
    ...(timeoutMs !== undefined && { "@timeout": `${timeoutMs}${isGrpc(door) ? "m" : ""}` }),
    ...headers,
  };
  return Object.entries(all).flatMap(([name, value]) =>
    [value ?? []]
      .flat()
      .map((one): Field => [name.startsWith("@") ? (names[name] ?? "") : name, one]),
  );
}

/** An answer as received. */
export interface WireResponse {
  /** 0 if there is none. */
  readonly status: number;
  readonly headers: readonly Field[];
  readonly body: Buffer;
  readonly trailers: readonly Field[];
  readonly isWhole: boolean;
}

export interface Client extends AsyncDisposable {
  /** @param called A client that leaves waits for it. */
  send(request: WireRequest, called?: Promise<unknown>): Promise<WireResponse>;
}

const nothing = { status: 0, headers: [], body: Buffer.of(), trailers: [], isWhole: false };

export function createHttp1Client(port: number): Client {
  const agent = new http.Agent({ keepAlive: true });
  return {
    async send({ method, path, headers, body, leaves }, called) {
      const length = Buffer.concat(body).length;
      const framing: Field[] =
        method === "GET" || method === "HEAD" ? [] : [["content-length", `${length}`]];
      const given = { method, path, headers: [...headers, ...framing].flat() };
      const request = http.request({ port, host: "127.0.0.1", agent, ...given });
      request.on("error", () => {}); // also behind an answer, in a broken connection
      const answered = answerOf(request);
      await write(request, body);
      request.end();
      if (leaves !== undefined) void called?.then(() => request.destroy());
      return await answered;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
    },
  };
}

async function answerOf(request: http.ClientRequest): Promise<WireResponse> {
  try {
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    const body = await chunksOf(response);
    const { statusCode: status = 0, rawHeaders, rawTrailers, complete: isWhole } = response;
    return { status, headers: pairs(rawHeaders), body, trailers: pairs(rawTrailers), isWhole };
  } catch {
    return nothing;
  }
}

export function createHttp2Client(port: number): Client {
  const session = http2.connect(`http://127.0.0.1:${port}`).on("error", () => {});
  return {
    async send({ method, path, headers, body, leaves }, called) {
      const head: http2.OutgoingHttpHeaders = { ":method": method, ":path": path };
      for (const [name, value] of headers) {
        head[name] = head[name] === undefined ? value : [head[name], value].flat().map(String);
      }
      const stream = session.request(head, { endStream: body.length === 0 }).on("error", () => {});
      const closed = once(stream, "close").catch(() => {});
      let [fields, trailers]: Field[][] = [[], []];
      stream.on("response", (_fields, _flags, raw?: string[]) => {
        fields = pairs(raw);
      });
      stream.on("trailers", (_fields, _flags, raw?: string[]) => {
        trailers = pairs(raw);
      });
      const received = chunksOf(stream);
      await write(stream, body);
      if (body.length > 0) stream.end();
      if (leaves !== undefined) void called?.then(() => stream.close(leaves));
      const bytes = await received;
      // An answered request need not be sent to its end.
      if (!stream.closed && !stream.writableFinished) stream.close(http2.constants.NGHTTP2_CANCEL);
      await closed;
      const status = Number(fields?.find(([name]) => name === ":status")?.[1] ?? 0);
      const own = (fields ?? []).filter(([name]) => !name.startsWith(":"));
      const isWhole = stream.rstCode === 0 || stream.rstCode === http2.constants.NGHTTP2_CANCEL;
      return { status, headers: own, body: bytes, trailers: trailers ?? [], isWhole };
    },
    async [Symbol.asyncDispose]() {
      session.destroy();
    },
  };
}

async function write(to: NodeJS.WritableStream, body: readonly Uint8Array[]): Promise<void> {
  for (const chunk of body) {
    if (chunk !== body[0]) await setImmediate();
    to.write(chunk);
  }
}

async function chunksOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(chunk);
  } catch {
    // What came before it was cut.
  }
  return Buffer.concat(chunks);
}

function pairs(raw: readonly string[] = []): Field[] {
  return raw.flatMap((name, i) =>
    i % 2 === 0 ? [[name.toLowerCase(), raw[i + 1] ?? ""] as const] : [],
  );
}
