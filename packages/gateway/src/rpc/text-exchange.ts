import { Code, ConnectError } from "@connectrpc/connect";
import type { BodySink, Exchange, Response } from "../http/exchange.ts";

/** An exchange whose bodies are encoded in base64 (RFC 4648 section 4), as in gRPC-Web text. */
export class TextExchange implements Exchange {
  readonly #inner: Exchange;

  constructor(inner: Exchange) {
    this.#inner = inner;
  }

  get method() {
    return this.#inner.method;
  }

  get target() {
    return this.#inner.target;
  }

  get headers() {
    return this.#inner.headers;
  }

  get origin() {
    return this.#inner.origin;
  }

  get peerAddress() {
    return this.#inner.peerAddress;
  }

  addHeader(header: Readonly<Record<string, string>>): void {
    this.#inner.addHeader(header);
  }

  get isAnswered() {
    return this.#inner.isAnswered;
  }

  get status() {
    return this.#inner.status;
  }

  get code() {
    return this.#inner.code;
  }

  get isClosed() {
    return this.#inner.isClosed;
  }

  get closeReason() {
    return this.#inner.closeReason;
  }

  breakOff(): void {
    this.#inner.breakOff();
  }

  get call() {
    return this.#inner.call;
  }

  set call(call: Exchange["call"]) {
    this.#inner.call = call;
  }

  readBody<T>(sink: BodySink<T>): Promise<T> {
    let rest = "";
    return this.#inner.readBody({
      push(chunk) {
        const text = rest + Buffer.from(chunk).toString("latin1");
        const whole = text.length - (text.length % 4);
        rest = text.slice(whole);
        if (whole > 0) sink.push(decodeBase64(text.slice(0, whole)));
      },
      end() {
        if (rest !== "") throw notBase64();
        return sink.end();
      },
    });
  }

  respond({ header, body, ...rest }: Response): void {
    const text = Buffer.from(body).toString("base64");
    this.#inner.respond({
      ...rest,
      header: { ...header, "content-length": text.length },
      body: text,
    });
  }
}

/** @param text Whole groups of four. Each message may have its own padding. */
function decodeBase64(text: string): Uint8Array {
  if (!/^(?:[A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=|[A-Za-z\d+/]{2}==)*$/.test(text)) throw notBase64();
  const parts = text.match(/[^=]+=*/g) ?? [];
  return Buffer.concat(parts.map((part) => Buffer.from(part, "base64")));
}

function notBase64(): ConnectError {
  return new ConnectError("protocol error: the body is not base64", Code.InvalidArgument);
}
