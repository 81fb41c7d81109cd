/** Outcomes, as changed by the differences. */
import { brotliCompressSync, gzipSync } from "node:zlib";
import type { Code } from "@connectrpc/connect";
import { codeToHttpStatus, codeToString } from "@connectrpc/connect/protocol-connect";
import type { Case } from "./case.ts";
import type { Outcome } from "./outcome.ts";

interface Status {
  readonly status: number;
  readonly code: Code;
  readonly message: string;
}

/** An error answer in REST's form: google.rpc.Status in JSON. */
export function rest(
  outcome: Outcome,
  { request }: Case,
  { status, code, message }: Status,
): Outcome {
  const text = JSON.stringify({ code, message, details: [] });
  return {
    ...answered(outcome, request, { "content-type": "application/json" }, text.length),
    status,
    body: request.method === "HEAD" ? [] : [{ compressed: "no", data: `text ${text}` }],
  };
}

/** A complete answer of that length, without trailers. */
export function answered(
  outcome: Outcome,
  { http }: Case["request"],
  headers: Readonly<Record<string, string>>,
  length: number,
): Outcome {
  const all = {
    ...headers,
    "content-length": String(length),
    ...(http === "1.0" && { connection: "close" }),
    ...(http === "1.1" && { connection: "keep-alive", "keep-alive": "timeout=60" }),
  };
  const sorted = Object.entries(all).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...outcome,
    headers: Object.fromEntries(sorted.map(([name, value]) => [name, [value]])),
    trailers: {},
    framing: "length",
    end: "whole",
  };
}

export interface CodeChange {
  /** The beginning of the error's message. */
  readonly message: string;
  readonly from: Code;
  readonly to: Code;
  /** Whether the original error is the cause of the other. */
  readonly isCause?: boolean;
}

/** The same error with another code: on the wire, and as the reason of a signal. */
export function withCode(outcome: Outcome, change: CodeChange): Outcome {
  const { message, from, to } = change;
  const seen = outcome.seen.map((observation) =>
    withReason(observation, change),
  ) as Outcome["seen"];
  const told = { ...outcome, seen };
  const encoded = encodeURIComponent(message);
  if (outcome.trailers["grpc-message"]?.[0]?.startsWith(encoded)) {
    return { ...told, trailers: { ...outcome.trailers, "grpc-status": [String(to)] } };
  }
  // Of a body of Connect, or of the last envelope of its streams.
  const json = `{"code":"${codeToString(from)}","message":${JSON.stringify(message).slice(0, -1)}`;
  const body = outcome.body.map(({ data, ...piece }) => ({
    ...piece,
    data: data.includes(`grpc-message: ${encoded}`)
      ? data.replace(`grpc-status: ${from}\r`, `grpc-status: ${to}\r`)
      : data.replace(json, json.replace(codeToString(from), codeToString(to))),
  }));
  const isConnect = outcome.body[0]?.data.startsWith(`text ${json}`) ?? false;
  if (!isConnect) return { ...told, body };
  const [encoding] = outcome.headers["content-encoding"] ?? [];
  const length = lengthOf(body[0]?.data.slice("text ".length) ?? "", encoding);
  const headers = { ...outcome.headers, "content-length": [String(length)] };
  return { ...told, status: codeToHttpStatus(to), headers, body };
}

export function lengthOf(text: string, encoding: string | undefined): number {
  if (encoding === "gzip") return gzipSync(text).length;
  if (encoding === "br") return brotliCompressSync(text).length;
  return Buffer.byteLength(text);
}

function withReason(value: unknown, change: CodeChange): unknown {
  if (isTrailer(value, change)) {
    const [from, to] = [change.from, change.to].map((code) =>
      JSON.stringify(["grpc-status", `${code}`]),
    );
    return value.map((field) => (JSON.stringify(field) === from ? JSON.parse(to ?? "") : field));
  }
  if (Array.isArray(value)) return value.map((item) => withReason(item, change));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => [name, withReason(item, change)]);
  const copy = Object.fromEntries(entries) as Record<string, unknown>;
  const isIt =
    String(copy["rawMessage"]).startsWith(change.message) && copy["code"] === change.from;
  if (!isIt) return copy;
  const message = `[${codeToString(change.to)}] ${copy["rawMessage"]}`;
  return { ...copy, message, code: change.to, ...(change.isCause && { cause: value }) };
}

/** Whether these are gRPC trailers with that message. */
function isTrailer(value: unknown, { message }: CodeChange): value is unknown[] {
  const isMessage = (field: unknown) =>
    Array.isArray(field) &&
    field[0] === "grpc-message" &&
    String(field[1]).startsWith(encodeURIComponent(message));
  return Array.isArray(value) && value.some(isMessage);
}
