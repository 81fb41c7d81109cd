import { once } from "node:events";
import net, { type Socket } from "node:net";
import { answers as bodies, type Http1RequestKind, http1Request } from "../requests.ts";
import type { Answers, Connection, Target } from "./connection.ts";
import { responseEnd } from "./http1-response.ts";

/** A connection that has one request under way at a time. */
export async function openHttp1Connection(
  { host, port, nextId, answers }: Target,
  kind: Http1RequestKind,
): Promise<Connection> {
  const socket = net.connect({ host, port, noDelay: true });
  await once(socket, "connect");
  return new Http1Connection(socket, kind, nextId, answers);
}

const statusLine = Buffer.from("HTTP/1.1 200 ", "latin1");

class Http1Connection implements Connection {
  free = 1;
  readonly #socket: Socket;
  readonly #before: string;
  readonly #after: string;
  readonly #body: Buffer;
  readonly #nextId: () => number;
  readonly #answers: Answers;
  #request = "";
  #startedAt = 0;
  #received: Buffer = Buffer.alloc(0);
  /** A right answer always has the same length and its body in the same place. */
  #responseBytes = 0;
  #bodyAt = 0;

  constructor(socket: Socket, kind: Http1RequestKind, nextId: () => number, answers: Answers) {
    const { before, after } = http1Request(kind, `${socket.remoteAddress}:${socket.remotePort}`);
    this.#socket = socket;
    this.#before = before;
    this.#after = after;
    this.#body = bodies[kind];
    this.#nextId = nextId;
    this.#answers = answers;
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
    socket.on("error", answers.onBroken);
    socket.on("end", () => answers.onBroken(new Error("the server ended the connection")));
  }

  add(startedAt: number): void {
    this.free = 0;
    this.#startedAt = startedAt;
    this.#request = this.#before + this.#nextId() + this.#after;
  }

  flush(): void {
    if (this.#request === "") return;
    this.#socket.write(this.#request, "latin1");
    this.#request = "";
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    const bytes = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const isRight = bytes.length === this.#responseBytes && this.#hasRightBody(bytes);
    if (!isRight && responseEnd(bytes) !== bytes.length) {
      this.#received = bytes;
      return;
    }
    this.#received = Buffer.alloc(0);
    const now = performance.now();
    this.free = 1;
    this.#answers.onAnswer(isRight || this.#learn(bytes), this.#startedAt, now);
    this.#answers.onFree(this, now);
  }

  #hasRightBody(bytes: Buffer): boolean {
    const end = this.#bodyAt + this.#body.length;
    return (
      bytes.compare(statusLine, 0, statusLine.length, 0, statusLine.length) === 0 &&
      bytes.compare(this.#body, 0, this.#body.length, this.#bodyAt, end) === 0
    );
  }

  /** Looks at an answer whose length is new. */
  #learn(bytes: Buffer): boolean {
    const bodyAt = bytes.indexOf(this.#body, bytes.indexOf("\r\n\r\n"));
    if (bodyAt < 0 || bytes.compare(statusLine, 0, statusLine.length, 0, statusLine.length) !== 0) {
      return false;
    }
    this.#bodyAt = bodyAt;
    this.#responseBytes = bytes.length;
    return true;
  }
}
