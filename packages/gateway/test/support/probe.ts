/** Requests that distinguish handlers by their answers and by what ran. */
import { gzipSync } from "node:zlib";
import { createAsyncIterable, type UniversalHandler } from "@connectrpc/connect/protocol";
import type { Endpoint } from "../../src/rpc/endpoint.ts";
import { createMemoryExchange, headersOf } from "./memory-exchange.ts";
import { serveEndpoint } from "./serve-endpoint.ts";

const probes: readonly [what: string, header: Record<string, string>, body: string | Uint8Array][] =
  [
    ["plain", {}, '{"string":"a"}'],
    ["long", {}, JSON.stringify({ string: "a".repeat(200) })],
    ["gzip", { "content-encoding": "gzip" }, gzipSync("{}")],
    ["brotli", { "content-encoding": "br" }, "{}"],
    ["gzip back", { "accept-encoding": "gzip" }, JSON.stringify({ string: "a".repeat(100) })],
    ["unknown field", {}, '{"isbn":1}'],
    ["protocol header", { "connect-protocol-version": "1" }, "{}"],
    ["deadline", { "connect-timeout-ms": "60000" }, "{}"],
    ["empty", {}, "{}"],
  ];

/** Sends one probe: status, headers, and the whole body. */
export type Handler = (
  header: Record<string, string>,
  body: Uint8Array,
) => Promise<{ status: number; header: Headers; body: Uint8Array | string }>;

/** The answer to each probe, and what ran. */
export async function probe(handler: Handler, log: string[]): Promise<unknown[]> {
  const results: unknown[] = [];
  for (const [what, header, sent] of probes) {
    log.length = 0;
    const headers = { "content-type": "application/json", ...header };
    const {
      status,
      header: fields,
      body,
    } = await handler(headers, Buffer.from(sent as Uint8Array));
    const text = Buffer.from(body as Uint8Array).toString("latin1");
    // The messages of errors may differ.
    const error = { code: /"code": *("\w+"|\d+)/.exec(text)?.[1] };
    const answer = status === 200 ? { header: [...fields], body: text } : error;
    results.push({ what, ran: [...log], status, ...answer });
  }
  return results;
}

/** The handler of connect-es. */
export function universal(handler: UniversalHandler): Handler {
  return async (headers, sent) => {
    const { status, header, body } = await handler({
      httpVersion: "1.1",
      method: "POST",
      url: "http://localhost/library.v1.FieldService/Echo",
      header: new Headers(headers),
      body: createAsyncIterable([sent]),
      signal: new AbortController().signal,
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk);
    return { status, header: header ?? new Headers(), body: Buffer.concat(chunks) };
  };
}

/** The gateway's own handler. */
export function short(endpoint: Endpoint, target?: string): Handler {
  return async (headers, body) => {
    const exchange = createMemoryExchange({ headers, body: [body], ...(target && { target }) });
    await serveEndpoint(endpoint, exchange);
    if (exchange.response === undefined) throw new Error("nothing was answered");
    return { ...exchange.response, header: headersOf(exchange.response.header) };
  };
}
