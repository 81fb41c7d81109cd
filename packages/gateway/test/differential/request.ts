/** Requests of every protocol: a valid one, which the case changes. */

import { brotliCompressSync, gzipSync } from "node:zlib";
import type { DescMethod } from "@bufbuild/protobuf";
import { fromJson, toBinary } from "@bufbuild/protobuf";
import { EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { envelope } from "../support/envelope.ts";
import type { Field, WireRequest } from "./case.ts";
import type { Json } from "./script.ts";

export type Protocol = "connect" | "connect-get" | "grpc" | "grpc-web";
export type Kind = DescMethod["methodKind"];
export type Codec = "proto" | "json";
export type Compression = "gzip" | "br";

export interface CallSpec {
  readonly protocol: Protocol;
  /** Default: unary. A request in messages has the message twice. */
  readonly kind?: Kind;
  readonly codec?: Codec;
  readonly http?: WireRequest["http"];
  readonly message?: Json;
  /** Instead of the message's bytes. */
  readonly bytes?: Uint8Array;
  /** The flags of its envelope. */
  readonly flags?: number;
  readonly compression?: Compression;
  /** Added to what the protocol requires; null removes a header. */
  readonly headers?: readonly (readonly [name: string, value: string | null])[];
  /** Instead of the whole body. */
  readonly body?: readonly Uint8Array[];
  readonly path?: string;
  /** For GET: added to the query, or replacing all of it. */
  readonly query?: readonly Field[];
  readonly rawQuery?: string;
}

export const echoPath = "/library.v1.FieldService/Echo";
export const paths: Readonly<Record<Kind, string>> = {
  unary: echoPath,
  server_streaming: "/library.v1.FieldService/Repeat",
  client_streaming: "/library.v1.FieldService/Collect",
  bidi_streaming: "/library.v1.FieldService/Exchange",
};
export const updatePath = "/library.v1.LibraryService/UpdateLibrary";

const contentTypes: Record<Protocol, string> = {
  connect: "application/",
  "connect-get": "application/",
  grpc: "application/grpc+",
  "grpc-web": "application/grpc-web+",
};

export function createRequest(spec: CallSpec): WireRequest {
  const { protocol, kind = "unary", http = "1.1", codec = "proto" } = spec;
  const { path = paths[kind] } = spec;
  const isGet = protocol === "connect-get";
  const packed = packedMessage(spec);
  const isEnveloped = protocol !== "connect" || kind !== "unary";
  const flags = spec.flags ?? (spec.compression === undefined ? 0 : 1);
  const one = isEnveloped ? envelope(packed, flags) : packed;
  const isInMessages = kind === "client_streaming" || kind === "bidi_streaming";
  const body = spec.body ?? [isInMessages ? Buffer.concat([one, one]) : one];
  return {
    http,
    method: isGet ? "GET" : "POST",
    path: isGet ? `${path}?${queryOf(spec, packed)}` : path,
    headers: headersOf(spec, codec),
    body: isGet ? [] : body,
    ...(isGet && { framing: "none" }),
  };
}

function packedMessage({ codec = "proto", message = {}, bytes, compression }: CallSpec): Buffer {
  const plain =
    bytes ?? (codec === "json" ? Buffer.from(JSON.stringify(message)) : binary(message));
  switch (compression) {
    case "gzip":
      return gzipSync(plain);
    case "br":
      return brotliCompressSync(plain);
    default:
      return Buffer.from(plain);
  }
}

function binary(message: Json): Uint8Array {
  return toBinary(EveryFieldSchema, fromJson(EveryFieldSchema, message as never));
}

function headersOf(spec: CallSpec, codec: Codec): Field[] {
  const { protocol, kind = "unary", http = "1.1", compression, headers = [] } = spec;
  const isStream = protocol === "connect" && kind !== "unary";
  const given: [string, string | null][] = http === "2" ? [] : [["host", "example.test"]];
  if (protocol !== "connect-get") {
    given.push(["content-type", `${contentTypes[protocol]}${isStream ? "connect+" : ""}${codec}`]);
  }
  if (protocol === "grpc") given.push(["te", "trailers"]);
  if (compression !== undefined && protocol !== "connect-get") {
    const ofConnect = isStream ? "connect-content-encoding" : "content-encoding";
    given.push([protocol === "connect" ? ofConnect : "grpc-encoding", compression]);
  }
  const replaced = new Set(headers.map(([name]) => name.toLowerCase()));
  return [...given.filter(([name]) => !replaced.has(name)), ...headers].flatMap(([name, value]) =>
    value === null ? [] : [[name, value] as const],
  );
}

function queryOf({ codec = "proto", compression, query = [], rawQuery }: CallSpec, packed: Buffer) {
  if (rawQuery !== undefined) return rawQuery;
  const isText = codec === "json" && compression === undefined;
  const fields: Field[] = [
    ["encoding", codec],
    ...(isText ? [] : [["base64", "1"] as const]),
    ["message", isText ? packed.toString() : packed.toString("base64url")],
    ...(compression === undefined ? [] : [["compression", compression] as const]),
  ];
  const replaced = new Set(query.map(([name]) => name));
  const all = [...fields.filter(([name]) => !replaced.has(name)), ...query];
  return new URLSearchParams(all as [string, string][]).toString();
}
