import { connect as connectTcp, isIP, type OnReadOpts, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { HeaderFilter } from "./header-filter.ts";

/** The certificates of a client, in PEM. */
export interface ClientTls {
  /** Certificates to trust. Default: Node's. */
  readonly ca?: string | Buffer | undefined;
  /** The client's own certificate, for servers that ask for one, and its key. */
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
  /** The name that the server's certificate must have. Default: the host of the URL. */
  readonly serverName?: string | undefined;
}

export interface SocketOptions {
  /** With the host's name, for `:authority` and TLS. */
  readonly origin: string;
  readonly address: string;
  /** The path of a Unix socket, in place of the address and the origin's port. */
  readonly socketPath?: string | undefined;
  readonly tls: ClientTls;
}

export function openSocket({ origin, address, socketPath, tls }: SocketOptions): GuardedSocket {
  if (socketPath !== undefined) {
    return new GuardedSocket((onread) => connectTcp({ path: socketPath, onread }));
  }
  const { protocol, hostname, port } = new URL(origin);
  const isSecure = protocol === "https:";
  const place = { host: address, port: Number(port) || (isSecure ? 443 : 80) };
  if (!isSecure) return new GuardedSocket((onread) => connectTcp({ ...place, onread }));
  const { serverName = isIP(unbracketed(hostname)) === 0 ? hostname : undefined, ...pem } = tls;
  return new GuardedSocket((onread) => {
    // A file may trust a CA whose own certificate is signed by another, as in Go. SNI has no last dot.
    const own = { ALPNProtocols: ["h2"], onread, allowPartialTrustChain: true };
    return connectTls({ ...place, ...pem, servername: serverName?.replace(/\.$/, ""), ...own });
  });
}

const wrongVersion = "0A00010B";
const unhelpful = /; if the root .*|(?<=issuer certificate|in certificate chain)$/; // Node's advice is one of its own flags

/** The message of an error of a socket. Those of OpenSSL contain addresses and paths of its sources. */
export function socketMessage({ message }: Error): string {
  const [, code, reason] = /:error:([0-9A-F]{8}):[^:]*:[^:]*:([^:]*):/.exec(message) ?? [];
  if (reason === undefined) return message.replace(unhelpful, "; it, or its CA, must be trusted");
  return `TLS failed: ${reason}${code === wrongVersion ? "; the server may speak plaintext" : ""}`;
}

/** Logs show this error, and not those that wrap it. */
export function socketError(cause: NodeJS.ErrnoException): Error {
  const message = socketMessage(cause);
  if (message === cause.message) return cause;
  return Object.assign(new Error(message, { cause }), { code: cause.code });
}

export function unbracketed(hostname: string): string {
  return hostname.replace(/[[\]]/g, "");
}

/** As much as Node reads at once. */
const readBytes = 64 * 1024;

/**
 * A socket of HTTP/2 whose server may send headers of any size: see {@link HeaderFilter}. It also saves a
 * fifth of a call's CPU, because Node writes larger pieces to a stream of ours than to a socket. It reads
 * into one buffer: with a new one for each read, V8 collects three times as often.
 */
export class GuardedSocket extends Duplex {
  readonly #socket: Socket;
  readonly #filter = new HeaderFilter();
  /** Whether the connection has ended, by whomever. */
  isOver = false;
  /** Called then; `end` ends it for the session, which discards what is unread. */
  onOver = (end: () => void): void => end();

  /** @param open Opens the socket, which reads as it is told. */
  constructor(open: (onread: OnReadOpts) => Socket) {
    super();
    const buffer = Buffer.allocUnsafeSlow(readBytes);
    const socket = open({ buffer, callback: (size) => this.#receive(buffer.subarray(0, size)) });
    // Load balancers forget a connection that rests for minutes. Node 22 ignores such options over TLS.
    this.#socket = socket.setNoDelay().setKeepAlive(true, 60_000);
    socket.on("end", () => this.finish(() => this.push(null)));
    socket.on("error", (error) => this.finish(() => this.destroy(error)));
    socket.on("close", () => this.finish(() => this.destroy()));
  }

  finish(end: () => void): void {
    this.isOver = true;
    this.onOver(end);
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** @param received Overwritten by the next read. @returns whether to read on. */
  #receive(received: Buffer): boolean {
    let wantsMore = true;
    for (const part of this.#filter.filter(received)) {
      // Where nothing is queued, the session copies it at once.
      const isTaken = this.readableFlowing === true && this.readableLength === 0;
      wantsMore = this.push(isTaken ? part : Buffer.from(part));
    }
    return wantsMore;
  }

  override _read(): void {
    this.#socket.resume();
  }

  /** Also for a single chunk. */
  override _writev(chunks: readonly { readonly chunk: Buffer }[], callback: WriteCallback): void {
    if (this.isOver) callback();
    else {
      this.#socket.cork();
      for (let i = 0; i < chunks.length - 1; i++) this.#socket.write(chunks[i]?.chunk as Buffer);
      this.#socket.write(chunks.at(-1)?.chunk as Buffer, callback);
      this.#socket.uncork();
    }
  }

  override _final(callback: () => void): void {
    if (this.isOver) callback();
    else this.#socket.end(callback);
  }

  override _destroy(error: Error | null, callback: WriteCallback): void {
    this.#socket.destroy();
    callback(error && socketError(error)); // that of a write, too
  }
}

type WriteCallback = (error?: Error | null) => void;
