import { once } from "node:events";
import net, { type Socket } from "node:net";
import { answers as bodies, type Http1RequestKind, http1Request } from "../requests.ts";
import type { Answers, Connection, Target } from "./connection.ts";
import { responseEnd } from "./http1-response.ts";

/** A connection with one request at a time. */
export async function openHttp1Connection(
  { host, port, nextId, answers }: Target,
  kind: Http1RequestKind,
): Promise<Connection> {
  let connection: Http1Connection | undefined;
  const socket = net.connect({
    host,
    port,
    noDelay: true,
    // Data is processed before the next read, so all connections share one buffer.
    onread: {
      buffer: readBuffer,
      callback(length) {
        connection?.read(readBuffer.subarray(0, length));
        return true;
      },
    },
  });
  await once(socket, "connect");
  connection = new Http1Connection(socket, kind, nextId, answers);
  return connection;
}

const readBuffer = Buffer.alloc(2 ** 16);

/** The place of the id. Every id has the same number of digits. */
const idPlace = "0".repeat(16);

const statusLine = Buffer.from("HTTP/1.1 200 ", "latin1");

class Http1Connection implements Connection {
  free = 1;
  readonly #socket: Socket;
  /** The request, in which only the id changes. */
  readonly #request: Buffer;
  readonly #idAt: number;
  #body: Buffer;
  readonly #nextId: () => number;
  readonly #answers: Answers;
  #isAdded = false;
  #startedAt = 0;
  /** The beginning of an answer that arrived in pieces. */
  #received: Buffer | undefined;
  /** Correct answers all have the same length, with the body in the same place. */
  #responseBytes = 0;
  #bodyAt = 0;

  constructor(socket: Socket, kind: Http1RequestKind, nextId: () => number, answers: Answers) {
    const { before, after } = http1Request(kind, `${socket.remoteAddress}:${socket.remotePort}`);
    this.#socket = socket;
    this.#request = Buffer.from(`${before}${idPlace}${after}`, "latin1");
    this.#idAt = before.length;
    this.#body = bodies[kind];
    this.#nextId = nextId;
    this.#answers = answers;
    socket.on("error", answers.onBroken);
    socket.on("end", () => answers.onBroken(new Error("the server ended the connection")));
  }

  add(startedAt: number): void {
    this.free = 0;
    this.#startedAt = startedAt;
    // The previous request has been answered, so nobody reads its bytes any more.
    this.#request.write(`${this.#nextId()}`, this.#idAt, "latin1");
    this.#isAdded = true;
  }

  flush(): void {
    if (!this.#isAdded) return;
    this.#isAdded = false;
    this.#socket.write(this.#request);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** @param chunk Overwritten after the call. */
  read(chunk: Buffer): void {
    const bytes = this.#received === undefined ? chunk : Buffer.concat([this.#received, chunk]);
    const isRight = bytes.length === this.#responseBytes && this.#hasRightBody(bytes);
    if (!isRight && responseEnd(bytes) !== bytes.length) {
      this.#received = Buffer.from(bytes);
      return;
    }
    this.#received = undefined;
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

  /** Examines an answer with a new length. */
  #learn(bytes: Buffer): boolean {
    const from = bytes.indexOf("\r\n\r\n");
    // Go's protojson writes a space after commas in every second build of a program.
    const spaced = Buffer.from(this.#body.toString().replaceAll('","', '", "'));
    if (bytes.includes(spaced, from)) this.#body = spaced;
    const bodyAt = bytes.indexOf(this.#body, from);
    if (bodyAt < 0 || bytes.compare(statusLine, 0, statusLine.length, 0, statusLine.length) !== 0) {
      return false;
    }
    this.#bodyAt = bodyAt;
    this.#responseBytes = bytes.length;
    return true;
  }
}
