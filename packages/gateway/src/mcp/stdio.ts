/** MCP on standard input and output, for desktop programs that start their servers: one message a line. */
import { base64Encode } from "@bufbuild/protobuf/wire";
import { type ExactJson, parseJsonText } from "../codec/json-text.ts";
import { RestFailure } from "../errors/http.ts";
import { bytesOf } from "../http/body.ts";
import { splitLines } from "../rest/stream/json-stream.ts";
import { assertOptions } from "../rpc/options.ts";
import { stringOrInteger, versionKey } from "./message.ts";

export interface StdioOptions {
  /** `process.stdin`. */
  readonly input: AsyncIterable<Uint8Array | string>;
  /** `process.stdout`. Nothing else may write there. */
  readonly output: { write(text: string, done: () => void): unknown };
  /** The longest line. Default: 16 MiB. A longer one ends it with an error. */
  readonly lineBytesMax?: number;
}

/** As much of a message as is needed to pass it on. It may be anything. */
interface Sent {
  readonly id?: unknown;
  readonly method?: unknown;
  readonly params?: {
    readonly _meta?: { readonly [versionKey]?: unknown };
    readonly name?: unknown;
    readonly requestId?: unknown;
  };
}

/**
 * Passes each message to the `/mcp` of a gateway, in process. Resolves when the input has ended and
 * all calls are answered.
 * @param handler That of `gatewayFetchHandler`.
 * @throws {RangeError} for a line that is too long; what a response fails with.
 */
export async function serveStdio(
  handler: (request: Request) => Promise<Response>,
  { input, output, lineBytesMax = 16 * 1024 * 1024 }: StdioOptions,
): Promise<void> {
  assertOptions("serveStdio", { lineBytesMax }, { lineBytesMax: "positive number" });
  /** By id. */
  const calls = new Map<string, AbortController>();
  const open = new Set<Promise<void>>();
  const write = (json: string) =>
    new Promise<void>((resolve) => output.write(`${json}\n`, () => resolve()));

  async function pass(line: Uint8Array): Promise<void> {
    const message = parse(line);
    const { method, params, id } = message;
    // An error would answer the error of a client, which might answer it, too.
    if (method === undefined && ("result" in message || "error" in message)) return;
    if (method === "notifications/cancelled") calls.get(JSON.stringify(params?.requestId))?.abort();
    const call = new AbortController();
    const key = JSON.stringify(id);
    if (id !== undefined) calls.set(key, call);
    const { signal } = call;
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve());
    try {
      const body = line as Uint8Array<ArrayBuffer>;
      const init = { method: "POST", headers: headersOf(message), signal, body };
      const messages = messagesOf(await handler(new Request("http://localhost/mcp", init)));
      // Nobody waits for the answer of a call that was cancelled.
      for (;;) {
        const next = await Promise.race([messages.next(), cancelled]);
        if (next === undefined || next.done === true || signal.aborted) break;
        if (id !== undefined || method === undefined) await write(withId(next.value, id));
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      calls.delete(key);
    }
  }

  async function* chunks() {
    for await (const chunk of input) yield bytesOf(chunk);
  }

  const failed = Promise.withResolvers<never>();
  async function passAll(): Promise<void> {
    for await (const line of splitLines(chunks(), { valueBytesMax: lineBytesMax })) {
      const call = pass(line)
        .catch(failed.reject)
        .finally(() => open.delete(call));
      open.add(call);
    }
    await Promise.all(open);
  }
  await Promise.race([passAll(), failed.promise]).catch((cause) => {
    if (!(cause instanceof RestFailure)) throw cause;
    throw new RangeError(`a message has more than ${lineBytesMax} bytes`, { cause });
  });
}

function parse(line: Uint8Array): Sent {
  try {
    const json: unknown = parseJsonText(line); // ids past 2^53 stay distinct
    return typeof json === "object" && json !== null ? json : {};
  } catch {
    return {}; // the gateway says so
  }
}

/** Over HTTP, what proxies need to know is in headers, too. */
function headersOf({ method, params }: Sent): Record<string, string> {
  const version = headerText(params?._meta?.[versionKey]);
  const headers = { "content-type": "application/json" };
  if (version === "") return headers;
  const name = bytesOf(typeof params?.name === "string" ? params.name : "");
  return {
    ...headers,
    "mcp-protocol-version": version,
    "mcp-method": headerText(method),
    "mcp-name": `=?base64?${base64Encode(name)}?=`,
  };
}

/** Empty for anything that a header cannot have. */
function headerText(value: unknown): string {
  return typeof value === "string" && /^[!-~]+$/.test(value) ? value : "";
}

/** Over HTTP, an error needs no id. What is refused unread, for its size, has none. */
function withId(json: string, given: unknown): string {
  const id = JSON.stringify(stringOrInteger(given as ExactJson | undefined));
  if (id === undefined) return json;
  return json.replace(/^\{"jsonrpc":"2.0",(?="error":)/, (start) => `${start}"id":${id},`);
}

/** That of a response, or those of its events. */
async function* messagesOf({ headers, body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  const isStream = headers.get("content-type")?.startsWith("text/event-stream");
  for await (const line of splitLines(body, { valueBytesMax: Number.POSITIVE_INFINITY })) {
    const json = new TextDecoder().decode(line);
    if (!isStream) yield json;
    else if (json.startsWith("data:")) yield json.slice("data:".length).trim();
  }
}
