import type { Readable } from "node:stream";
import { Code } from "@connectrpc/connect";
import type { Abortable, BodySink, Exchange } from "./exchange.ts";

/** The common part of exchanges over Node's requests and streams. */
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

  /** The source of the body. */
  protected abstract readonly source: Readable;

  /** After this, the body emits no more events, or ends as if it were complete. */
  abstract readonly isClosed: boolean;

  abstract readonly closeReason: unknown;

  readBody<T>(sink: BodySink<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#reading = { sink, resolve, reject } as Reading;
    const { source } = this;
    if (this.isClosed) this.#leave();
    else if (source.readableEnded)
      this.#end(); // an empty body may end by itself before it is read
    else {
      source.on("data", (chunk: Uint8Array) => this.#push(chunk));
      source.on("end", () => this.#end());
      // Now and not in the next tick, so that data that arrives with the headers need not be
      // buffered.
      source.read(0);
    }
    return promise;
  }

  /** Call once when the exchange ends. */
  protected close(): void {
    this.#leave();
    this.call?.abort(this.closeReason);
    this.call = undefined;
  }

  #push(chunk: Uint8Array): void {
    try {
      this.#reading?.sink.push(chunk); // chunks after a failure are ignored
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
 * The references from the body's listeners to the call. Released when the call ends, because Node
 * may hold a stream and its listeners for longer.
 */
interface Reading {
  readonly sink: BodySink<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** The client closed the connection before the request was complete. */
export class ClientGoneError extends Error {
  override readonly name = "ClientGoneError";
}
