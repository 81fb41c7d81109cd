import type { Readable } from "node:stream";
import { Code } from "@connectrpc/connect";
import type { Abortable, BodySink, Exchange } from "./exchange.ts";

/** What exchanges over requests and streams of Node's have in common. */
export abstract class NodeExchange
  implements Pick<Exchange, "origin" | "code" | "call" | "readBody">
{
  readonly origin: string;
  code: Code | undefined = Code.Canceled;
  call: Abortable | undefined;
  #reading: Reading | undefined;

  constructor(origin: string) {
    this.origin = origin;
  }

  /** Where the body comes from. */
  protected abstract readonly source: Readable;

  /** Once it is, the body tells nobody any more, or ends as if it were whole. */
  abstract readonly isClosed: boolean;

  abstract readonly closeReason: unknown;

  readBody<T>(sink: BodySink<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#reading = { sink, resolve, reject } as Reading;
    const { source } = this;
    if (this.isClosed) this.#leave();
    else if (source.readableEnded)
      this.#end(); // an empty body may end by itself, before it is read
    else {
      source.on("data", (chunk: Uint8Array) => this.#push(chunk));
      source.on("end", () => this.#end());
      // Now, and not in the next tick: what comes with the head need not be kept until then.
      source.read(0);
    }
    return promise;
  }

  /** To be called once, when the exchange is over. */
  protected close(): void {
    this.#leave();
    this.call?.abort(this.closeReason);
    this.call = undefined;
  }

  #push(chunk: Uint8Array): void {
    try {
      this.#reading?.sink.push(chunk); // what comes after a failure is passed over
    } catch (error) {
      this.#fail(error);
    }
  }

  #end(): void {
    if (this.isClosed) {
      this.#leave();
      return;
    }
    try {
      this.#reading?.resolve(this.#reading.sink.end());
      this.#reading = undefined;
    } catch (error) {
      this.#fail(error);
    }
  }

  #leave(): void {
    if (this.#reading !== undefined) this.#fail(new ClientGoneError("the client has left"));
  }

  #fail(error: unknown): void {
    this.#reading?.reject(error);
    this.#reading = undefined;
  }
}

/**
 * All that the body's listeners know of the call, and let go of when it is over: Node may
 * hold a stream, and its listeners, for longer.
 */
interface Reading {
  readonly sink: BodySink<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** The client closed its end before the request was whole. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}
