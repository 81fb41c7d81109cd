import { Code, ConnectError } from "@connectrpc/connect";
import type {
  Abortable,
  Response as Answer,
  BodySink,
  BodyWriter,
  Exchange,
  Head,
} from "./exchange.ts";
import { type NodeHeaders, type RequestHeaders, withoutConnection } from "./headers.ts";

/** An exchange over the `Request` and `Response` of fetch, as many runtimes have them. */
export class FetchExchange implements Exchange {
  readonly method: string;
  readonly target: string;
  readonly headers: RequestHeaders;
  readonly origin: string;
  readonly peerAddress: string | undefined;
  readonly isDuplex = true;
  readonly hasTrailers = false;
  readonly omitted = undefined;
  /** Resolves with the head of the answer; its body may follow. */
  readonly response: Promise<Response>;
  call: Abortable | undefined;
  isAnswered = false;
  isClosed = false;
  readonly hasLeft = false;
  status: number | undefined;
  closeReason: unknown;
  code: Code | undefined = Code.Canceled;
  #added: NodeHeaders = {};
  readonly #request: Request;
  readonly #answer: (response: Response) => void;
  #writer: StreamWriter | undefined;

  constructor(request: Request, peerAddress: string | undefined) {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const { origin } = new URL(request.url);
    this.method = request.method;
    this.origin = origin;
    this.target = request.url.slice(origin.length);
    this.headers = Object.fromEntries(request.headers);
    this.peerAddress = peerAddress;
    this.response = promise;
    this.#answer = resolve;
    this.#request = request;
    request.signal.addEventListener("abort", () => this.#close());
  }

  addHeader(header: NodeHeaders): void {
    this.#added = { ...this.#added, ...header };
  }

  /** The runtime limits requests. */
  keepOpen(): void {}

  async readBody<T>(sink: BodySink<T>): Promise<T> {
    for await (const chunk of this.chunks()) sink.push(chunk);
    return await sink.end();
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const reader = this.#request.body?.getReader();
    if (reader === undefined) return;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (this.isClosed) throw clientLeft();
        if (done) return;
        yield value;
      }
    } catch (error) {
      throw error instanceof ConnectError ? error : clientLeft();
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  respond({ body, code, ...head }: Answer): void {
    if (this.isClosed || this.isAnswered) return;
    const isEmpty = body.length === 0 || this.method === "HEAD";
    this.#send(head, isEmpty ? null : (body as BodyInit));
    this.code = code;
  }

  begin(head: Head): BodyWriter {
    const writer = new StreamWriter(
      (code) => {
        this.code = code;
      },
      () => this.#close(),
    );
    this.#writer = writer;
    this.#send(head, writer.stream);
    return writer;
  }

  #send(head: Head, body: BodyInit | null): void {
    this.isAnswered = true;
    this.status = head.status;
    const headers = new Headers();
    const all = withoutConnection({ ...head.header, ...this.#added });
    for (const [name, value] of Object.entries(all)) {
      for (const one of Array.isArray(value) ? value : [value]) headers.append(name, `${one}`);
    }
    this.#answer(new Response(body, { status: head.status, headers }));
  }

  breakOff(code = Code.Internal): void {
    this.code = code;
    this.#writer?.fail(new Error("the answer was broken off"));
    this.#close();
  }

  #close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.closeReason = clientLeft();
    this.#writer?.release();
    this.call?.abort(this.closeReason);
    // Nobody may be there to see it, but a handler must end.
    this.#answer(new Response(null, { status: 499 }));
  }
}

/** Writes into a `ReadableStream`, which is read as fast as the client takes it. */
class StreamWriter implements BodyWriter {
  readonly stream: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #hasRoom: (() => void) | undefined;
  readonly #onEnd: (code: Code | undefined) => void;

  constructor(onEnd: (code: Code | undefined) => void, onCancel: () => void) {
    this.#onEnd = onEnd;
    this.stream = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#resume(),
        cancel: () => {
          this.#controller = undefined;
          onCancel();
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 64 * 1024 }),
    );
  }

  write(chunk: Uint8Array): Promise<void> | undefined {
    this.#controller?.enqueue(chunk);
    if (this.#controller === undefined || (this.#controller.desiredSize ?? 0) > 0) return undefined;
    return new Promise((resolve) => {
      this.#hasRoom = resolve;
    });
  }

  end({
    body,
    code,
  }: {
    readonly body?: Uint8Array | string;
    readonly code?: Code | undefined;
  }): void {
    if (this.#controller === undefined) return;
    if (body !== undefined && body.length > 0) this.#controller.enqueue(asBytes(body));
    this.#onEnd(code);
    this.#controller.close();
    this.#controller = undefined;
  }

  fail(error: Error): void {
    this.#controller?.error(error);
    this.release();
  }

  release(): void {
    this.#controller = undefined;
    this.#resume();
  }

  #resume(): void {
    this.#hasRoom?.();
    this.#hasRoom = undefined;
  }
}

function asBytes(body: Uint8Array | string): Uint8Array {
  return typeof body === "string" ? new TextEncoder().encode(body) : body;
}

function clientLeft(): ConnectError {
  return new ConnectError("the client has left", Code.Canceled);
}
