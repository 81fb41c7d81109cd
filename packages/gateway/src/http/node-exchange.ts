import type { Readable, Writable } from "node:stream";
import type { ConnectError } from "@connectrpc/connect";
import { BodyAlreadyReadError } from "./body.ts";
import { type BodyBudget, clientLeft, Holding, requestBytes } from "./body-budget.ts";
import type { BodySink, BodyWriter, Ending, Exchange, Head, Response } from "./exchange.ts";
import type { NodeHeaders, RequestHeaders } from "./headers.ts";
import { pauseUntil, piecesMax, readChunks } from "./windows.ts";

const owner = Symbol("the exchange that an answer belongs to");

/** A stream of HTTP/2, or a response of HTTP/1.1. */
type Answer = Writable & { readonly headersSent: boolean; [owner]?: NodeExchange };

export function exchangeOf(answer: Writable): NodeExchange | undefined {
  return (answer as Answer)[owner];
}

type CallRefusal = Pick<Exchange, "error" | "status">;

/** Slower bodies are late, as in Kestrel. A steady upload is not, however long it takes. */
const bytesPerSecondMin = 240;

export abstract class NodeExchange implements Exchange {
  declare isDuplex: boolean;
  declare method: string;
  declare target: string;
  declare path: string;
  declare query: string;
  declare headers: RequestHeaders;
  declare url: string;
  declare problem: string | undefined;
  abstract readonly peerAddress: string | undefined;
  /** After this, the body emits no more events, or ends as if it were complete. */
  abstract readonly isClosed: boolean;
  protected abstract readonly sentStatus: number | undefined;
  protected abstract readonly closeError: unknown;
  abstract begin(head: Head): BodyWriter;
  abstract breakOff(error?: ConnectError): void;
  readonly hasTrailers = true;
  call: Exchange["call"];
  hasLeft = false;
  isKept = false;
  /** Those of its body, since `keepsPace`. */
  readBytes = 0;
  omission: Error | undefined;
  protected added: NodeHeaders | undefined;
  /** The error of the answer; null: there is no answer yet. */
  protected outcome: ConnectError | null | undefined = null;
  /** Whether a body was announced. It may be empty. */
  declare hasBody: boolean;
  declare protected source: Readable;
  declare protected readonly answer: Answer;
  declare protected readonly close: () => void;
  private refusal: CallRefusal | undefined;
  reading: Reading | undefined;
  held: Holding | undefined;
  declare private readonly budget: BodyBudget | undefined;

  constructor(source: Readable, answer: Answer, budget: BodyBudget | undefined) {
    this.source = source;
    this.answer = answer;
    this.budget = budget;
    answer[owner] = this;
    // Not an arrow function: V8 keeps objects for longer that have one of their own in a field.
    this.close = closeExchange.bind(undefined, this);
    answer.on("close", this.close);
  }

  get error(): ConnectError | undefined {
    if (this.refusal !== undefined) return this.refusal.error;
    return this.hasLeft || this.outcome === null ? clientLeft() : this.outcome;
  }

  get isAnswered(): boolean {
    return this.answer.headersSent;
  }

  get status(): number | undefined {
    return this.refusal === undefined ? this.sentStatus : this.refusal.status;
  }

  get closeReason(): unknown {
    return this.hasLeft ? clientLeft() : this.closeError;
  }

  addHeader(header: NodeHeaders): void {
    this.added = { ...this.added, ...header };
  }

  get holding(): Holding | undefined {
    if (this.held === undefined) {
      this.held = this.budget && new Holding(this.budget, this);
      if (this.isClosed) this.held?.release();
    }
    return this.held;
  }

  abstract respond(response: Response): void;

  /** The server has ended the request itself. */
  refuse(refusal: CallRefusal): void {
    if (!this.isAnswered && !this.hasLeft) this.refusal = refusal;
  }

  /** Whether enough of the body was read in the last `ms`. Call once for each such time. */
  keepsPace(ms: number): boolean {
    if (this.readBytes * 1000 < bytesPerSecondMin * ms) return false;
    this.readBytes = 0;
    return true;
  }

  /** The client has shut its sending side: cancels its call, as Go's net/http does. Answers are still sent. */
  leave(): void {
    this.hasLeft = true;
    this.call?.abort(clientLeft());
  }

  readBody<T>(sink: BodySink<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.reading = { sink, resolve, reject } as Reading;
    try {
      if (this.source.readableDidRead) throw new BodyAlreadyReadError();
      const room = this.hasBody ? this.holding?.add(requestBytes) : undefined;
      if (room === undefined) this.#read();
      else room.then(() => this.#read()).catch((error) => this.#fail(error));
    } catch (error) {
      this.#fail(error);
    }
    return promise;
  }

  stopReading(reason: unknown): void {
    if (!this.hasLeft) this.#fail(reason); // the parser answers 400
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    if (this.source.readableDidRead) throw new BodyAlreadyReadError();
    yield* readChunks(this.source);
    if (this.isClosed || !this.source.readableEnded) throw clientLeft();
  }

  #read(): void {
    const { source } = this;
    let extraBytes = this.hasBody ? requestBytes : 0;
    const resolve = (read: unknown) => {
      this.reading?.resolve(read);
      this.reading = undefined;
    };
    const end = () => {
      if (this.isClosed) return; // its close is still to come
      // As many bytes of the body are counted with the request.
      if (extraBytes > 0) this.held?.give(extraBytes);
      try {
        const read = this.reading?.sink.end();
        if (read instanceof Promise) read.then(resolve, (error) => this.#fail(error));
        else resolve(read);
      } catch (error) {
        this.#fail(error);
      }
    };
    if (this.isClosed) this.#fail(clientLeft());
    // An empty body may end by itself before it is read.
    else if (source.readableEnded) end();
    else {
      source.on("data", (chunk: Uint8Array) => {
        if (this.reading === undefined) return; // chunks after a failure are ignored
        this.readBytes += chunk.byteLength;
        try {
          extraBytes -= chunk.byteLength;
          const room = this.reading.sink.push(chunk);
          if (room !== undefined) void pauseUntil(source, room, (error) => this.#fail(error));
        } catch (error) {
          this.#fail(error);
        }
      });
      source.on("end", end);
      source.read(0); // not in the next tick: data that arrives with the headers need no buffer
    }
  }

  #fail(error: unknown): void {
    this.reading?.reject(error);
    this.reading = undefined;
  }
}

function closeExchange(exchange: NodeExchange): void {
  exchange.reading?.reject(clientLeft());
  exchange.reading = undefined;
  exchange.held?.release();
  exchange.call?.abort(exchange.closeReason);
  exchange.call = undefined;
}

/** Released when the call ends, because Node may hold the listeners of a body for longer. */
interface Reading {
  readonly sink: BodySink<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Writes chunks to a stream of Node: those of one turn of the event loop together. */
export function createNodeWriter(
  to: Writable & { flush?(): void },
  finish: (ending: Ending) => void,
): BodyWriter {
  // Over HTTP/1.1, Node does it by itself. If we do, no `drain` follows on Node 22.
  const corks = !("socket" in to);
  let isScheduled = false;
  let count = 0;
  let resume: (() => void) | undefined;
  const uncork = () => {
    if (!isScheduled) return;
    isScheduled = false;
    if (corks) to.uncork();
    to.flush?.(); // of a middleware that compresses, which would keep it
  };
  return {
    write(chunk) {
      if (to.destroyed) return undefined;
      if (!isScheduled) {
        isScheduled = true;
        if (corks) to.cork();
        process.nextTick(uncork);
      }
      // Each takes memory until it is sent. Middleware over HTTP/1.1 may not tell.
      const tell = corks && ++count % piecesMax === 0 ? () => resume?.() : undefined;
      // Adapters for Lambda return nothing, and have room.
      if (to.write(chunk, tell) !== false && !tell) return undefined;
      // Added once: a middleware that compresses adds some to its own stream, and removes none.
      if (resume === undefined) {
        for (const event of ["drain", "close"]) to.on(event, () => resume?.());
      }
      return new Promise((resolve) => (resume = resolve));
    },
    end(ending) {
      uncork();
      finish(ending);
    },
  };
}
