import type { Exchange, Response } from "../../src/http/exchange.ts";
import { parseRequestTarget, resolveUrl } from "../../src/http/target.ts";

/** An exchange without a network: the request is given, the answer is recorded. */
export type MemoryExchange = Exchange & { readonly response: Response | undefined };

export interface MemoryRequest {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: Record<string, string>;
  readonly body?: readonly Uint8Array[];
}

export function createMemoryExchange(request: MemoryRequest = {}): MemoryExchange {
  const { method = "POST", target = "/", headers = {}, body = [] } = request;
  let response: Response | undefined;
  return {
    method,
    target,
    ...parseRequestTarget(target),
    headers,
    url: resolveUrl("http", "localhost", target) ?? "",
    problem: undefined,
    peerAddress: undefined,
    holding: undefined,
    isDuplex: true,
    hasTrailers: true,
    omission: undefined,
    hasLeft: false,
    isKept: false,
    addHeader() {},
    get response() {
      return response;
    },
    get isAnswered() {
      return response !== undefined;
    },
    get status() {
      return response?.status;
    },
    isClosed: false,
    error: undefined,
    closeReason: undefined,
    async readBody(sink) {
      await Promise.resolve();
      for (const chunk of body) sink.push(chunk);
      return await sink.end();
    },
    stopReading() {},
    async *chunks() {
      yield* body;
    },
    begin(head) {
      const chunks: Uint8Array[] = [];
      return {
        write(chunk) {
          chunks.push(chunk);
          return undefined;
        },
        end({ body: last = "", ...ending }) {
          const all = [...chunks, Buffer.from(last as Uint8Array)];
          response = { ...head, ...ending, body: Buffer.concat(all) };
        },
      };
    },
    respond(answer) {
      response = answer;
    },
    breakOff() {
      throw new Error("the answer was broken off");
    },
    call: undefined,
  };
}
