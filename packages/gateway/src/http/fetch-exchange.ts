import type { ConnectError } from "@connectrpc/connect";
import { BodyAlreadyReadError, bytesOf, inPieces } from "./body.ts";
import { type BodyBudget, clientLeft, Holding, requestBytes } from "./body-budget.ts";
import {
  type Abortable,
  type Response as Answer,
  type BodySink,
  type BodyWriter,
  brokenOff,
  type Exchange,
  type Head,
} from "./exchange.ts";
import {
  fromNodeHeaders,
  mergeHeaders,
  type NodeHeaders,
  noUrl,
  type RequestHeaders,
  withoutConnection,
} from "./headers.ts";
import { authority } from "./target.ts";

/** An exchange over the `Request` and `Response` of fetch, as many runtimes have them. */
export class FetchExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly path: string;
  readonly query: string;
  readonly headers: RequestHeaders;
  readonly url: string;
  readonly problem: string | undefined;
  readonly peerAddress: string | undefined;
  readonly holding: Holding;
  readonly isDuplex = true;
  readonly hasTrailers = false;
  readonly hasLeft = false;
  isKept = true; // the runtime limits requests
  declare call: Abortable | undefined;
  declare status: number | undefined;
  isClosed = false;
  declare closeReason: unknown;
  /** null: there is no answer yet. */
  #error: ConnectError | null | undefined = null;
  readonly #request: Request;
  readonly #answer = Promise.withResolvers<Response>();
  readonly response = this.#answer.promise;
  #added: NodeHeaders | undefined;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #writer: WritableStreamDefaultWriter<Uint8Array> | undefined;

  constructor(request: Request, peerAddress: string | undefined, budget: BodyBudget) {
    this.headers = Object.fromEntries(request.headers);
    const { host = "localhost" } = this.headers;
    // Runtimes take any text for a host, even with a path in it. Bun leaves out one that is wrong.
    const url = authority.test(host as string) && URL.parse(request.url, "http://localhost");
    const { origin = "", pathname = "", search = "" } = url || ({} as Partial<URL>);
    this.problem = url ? undefined : noUrl;
    this.method = request.method;
    this.target = pathname + search;
    this.path = pathname;
    this.query = search.slice(1);
    this.url = origin + this.target; // without a fragment
    this.peerAddress = peerAddress;
    this.holding = new Holding(budget, this);
    this.#request = request;
    if (request.signal.aborted) this.#close();
    else request.signal.addEventListener("abort", () => this.#close());
  }

  get error(): ConnectError | undefined {
    return this.#error === null ? clientLeft() : this.#error;
  }

  get isAnswered(): boolean {
    return this.status !== undefined;
  }

  addHeader(header: NodeHeaders): void {
    this.#added = { ...this.#added, ...header };
  }

  readBody<T>(sink: BodySink<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.stopReading = reject;
      this.#readInto(sink).then(resolve, reject);
    });
  }

  stopReading(_reason: unknown): void {}

  async #readInto<T>(sink: BodySink<T>): Promise<T> {
    let extraBytes = this.#request.body === null ? 0 : requestBytes;
    if (extraBytes > 0) await this.holding.add(extraBytes);
    for await (const chunk of this.chunks()) {
      extraBytes -= chunk.byteLength;
      await sink.push(chunk);
    }
    // As many bytes of the body are counted with the request.
    if (extraBytes > 0) this.holding.give(extraBytes);
    return await sink.end();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const { body, bodyUsed } = this.#request;
    if (bodyUsed || body?.locked === true) throw new BodyAlreadyReadError();
    if (body === null) return;
    const reader = body.getReader();
    this.#reader = reader;
    let next: ReadableStreamReadResult<Uint8Array> | undefined;
    let missing = Number(this.headers["content-length"]);
    try {
      for (;;) {
        next = await reader.read().catch(() => undefined);
        if (next === undefined || this.isClosed) throw clientLeft();
        if (next.done && missing > 0) throw clientLeft(); // cut, as by Next.js behind a proxy.ts
        if (next.done) return;
        missing -= next.value.length;
        yield* inPieces([next.value]);
      }
    } finally {
      this.#reader = undefined;
      reader.releaseLock();
      // Discarded for as long as by nginx: many clients send all before they read the answer. If it were
      // cancelled at once, some runtimes would close the connection before the answer.
      if (next?.done === false) {
        body.pipeTo(new WritableStream(), { signal: AbortSignal.timeout(30_000) }).catch(() => {});
      }
    }
  }

  respond({ body, error, ...head }: Answer): void {
    if (this.isClosed || this.isAnswered) return;
    this.#send(head, body.length === 0 ? null : (body as BodyInit));
    this.#error = error;
  }

  begin(head: Head): BodyWriter {
    const room = new ByteLengthQueuingStrategy({ highWaterMark: bufferedBytesMax });
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(undefined, room);
    const writer = writable.getWriter();
    this.#writer = writer;
    // A middleware that compresses would keep messages, and cannot be flushed.
    const { "cache-control": own = "no-transform" } = head.header;
    const control = /no-transform/.test(`${own}`) ? `${own}` : `${own}, no-transform`;
    const header = { ...head.header, "cache-control": control };
    this.#send({ ...head, header }, readable as BodyInit);
    const write = (chunk: Uint8Array) => writer.write(chunk).catch(() => {}); // `closed` says so
    writer.closed.catch(() => this.#close());
    return {
      write: (chunk) => {
        const written = write(chunk);
        // Not `ready`: on Workers it does not wait.
        return (writer.desiredSize ?? 1) <= 0 ? written : undefined;
      },
      end: ({ body, error }) => {
        if (this.isClosed) return;
        if (body !== undefined && body.length > 0) write(bytesOf(body));
        writer.close().catch(() => {});
        this.#error = error;
      },
    };
  }

  breakOff(error = brokenOff()): void {
    this.#error = error;
    this.#writer?.abort(error).catch(() => {});
    this.#answer.resolve(new Response(null, { status: 500 }));
    this.#close();
  }

  #send(head: Head, body: BodyInit | null): void {
    const headers = fromNodeHeaders(withoutConnection(mergeHeaders(head.header, this.#added)));
    // Workers would otherwise apply the Content-Encoding once more.
    const init = { status: head.status, headers, encodeBody: "manual" };
    this.#answer.resolve(new Response(this.method === "HEAD" ? null : body, init));
    this.status = head.status;
  }

  #close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.closeReason = clientLeft();
    this.#reader?.cancel().catch(() => {});
    this.#writer?.abort(this.closeReason).catch(() => {});
    this.holding.release();
    this.call?.abort(this.closeReason);
    // The client has left, but the runtime waits for a response.
    this.#answer.resolve(new Response(null, { status: 499 }));
  }
}

/** As much as Node's HTTP/2 keeps for a slow reader. */
const bufferedBytesMax = 64 * 1024;
