import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { type GuardedSocket, openSocket, type Place } from "./guarded-socket.ts";
import { Liveness } from "./liveness.ts";

export interface ConnectionOptions extends Place {
  /** How long a server may say nothing before it is asked, and how long it then has. */
  readonly quietMsMax: number;
}

/** Told how one connection fares. */
export interface ConnectionListener {
  /** The server has sent its settings: it speaks HTTP/2. */
  opened(): void;
  /** There may be room for another stream. */
  vacated(): void;
  /** It takes no more streams; those that are open come to their end. Told once. */
  left(connection: Connection, error: ConnectError): void;
  /** It is over, and so are its streams. */
  closed(connection: Connection): void;
}

const headersFrame = 1;

/**
 * While a session holds more, Node resets the streams whose response headers arrive. Its default of
 * 10 is less than a few large requests, which the callers hold anyway. Node counts the bytes in 32
 * bits, so more than 4,294 would be less.
 */
const sessionMegabytesMax = 4000;

/**
 * The largest headers, and trailers, that servers should send. What a HeaderFilter lets through is not
 * larger, as Node counts it: without Huffman's coding, and 32 bytes more for each field.
 */
const headerBytesMax = 2 * 65_535;

const headerFieldsMax = headerBytesMax / 32;

/** One connection of HTTP/2 to one address. */
export class Connection {
  readonly #socket: GuardedSocket;
  readonly #session: ClientHttp2Session;
  readonly #listener: ConnectionListener;
  readonly #liveness: Liveness;
  #state: "connecting" | "open" | "leaving" = "connecting";
  #streams = 0;
  #streamsMax = 0;
  #failure: Error | undefined;
  /** Streams whose headers Node could not send, as when a GOAWAY comes in between. */
  readonly #unsent = new Set<number>();
  /** The last stream that a server which leaves has looked at, or will. */
  #lastStreamId = Number.POSITIVE_INFINITY;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    const { origin, quietMsMax } = options;
    this.#listener = listener;
    const socket = openSocket(options);
    this.#socket = socket;
    const session = connect(origin, {
      createConnection: () => socket,
      settings: { enablePush: false, maxHeaderListSize: headerBytesMax },
      maxSessionMemory: sessionMegabytesMax,
      maxHeaderListPairs: headerFieldsMax,
    });
    this.#session = session;
    this.#liveness = new Liveness(session, socket, {
      quietMsMax,
      isBusy: () => this.#streams > 0,
    });
    session.on("remoteSettings", ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }) => {
      this.#streamsMax = maxConcurrentStreams;
      if (this.#state === "open") listener.vacated();
      else if (this.#state === "connecting") {
        this.#state = "open";
        listener.opened();
      }
    });
    session.on("goaway", (_code, lastStreamId) => {
      this.#lastStreamId = Math.min(this.#lastStreamId, lastStreamId);
      this.#leave();
    });
    session.on("error", (error) => {
      this.#failure ??= error;
      this.#leave();
    });
    session.on("close", () => {
      this.#leave();
      listener.closed(this);
    });
  }

  get isConnecting(): boolean {
    return this.#state === "connecting";
  }

  /** Whether it takes streams, or will when there is room. Its streams end before it says that it is over. */
  get isOpen(): boolean {
    return this.#state === "open" && !this.isLost;
  }

  /** How many streams are open, or have a place. */
  get streams(): number {
    return this.#streams;
  }

  /** Whether the server takes another stream now. */
  get hasRoom(): boolean {
    return this.#streams < this.#streamsMax;
  }

  /**
   * Whether a server has certainly not looked at a stream: it says so by RST_STREAM or GOAWAY (RFC
   * 9113, sections 8.7 and 6.8), or the headers have never left.
   */
  hasPassedOver(stream: ClientHttp2Stream): boolean {
    return (
      stream.rstCode === constants.NGHTTP2_REFUSED_STREAM ||
      stream.id === undefined ||
      stream.id > this.#lastStreamId ||
      this.#unsent.has(stream.id)
    );
  }

  /** Whether it is over, for whatever reason, and its streams with it. */
  get isLost(): boolean {
    return this.#session.destroyed;
  }

  /** Takes a place for a stream. Whoever has taken one either opens the stream or vacates the place. */
  reserve(): void {
    this.#streams++;
  }

  vacate(): void {
    this.#streams--;
    if (this.#state === "open") this.#listener.vacated();
  }

  /**
   * Opens a stream in a place that was reserved, and vacates it when the stream closes.
   *
   * @throws what Node throws for headers that are none.
   */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream {
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headers);
    } catch (error) {
      this.vacate();
      throw error;
    }
    this.#liveness.owe();
    stream.on("close", this.#onClose);
    stream.on("error", this.#onError);
    stream.on("frameError", this.#onFrameError);
    return stream;
  }

  /** Takes no more streams, and closes behind the last. */
  close(): void {
    this.#leave();
    if (!this.#session.destroyed) this.#session.close();
  }

  /** Ends it, and its streams with it. */
  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy(); // the session waits until the server has taken what was sent
  }

  // The same functions for all streams: one of its own for each costs more than to call it.
  readonly #onClose = () => this.vacate();

  /** The close of a stream tells the rest. */
  readonly #onError = ({ code }: NodeJS.ErrnoException) => {
    // After 2^30 calls there is no number for another stream (RFC 9113, section 5.1.1).
    if (code === "ERR_HTTP2_OUT_OF_STREAMS") this.close();
  };

  readonly #onFrameError = (type: number, _code: number, streamId: number) => {
    if (type === headersFrame) this.#unsent.add(streamId);
  };

  #leave(): void {
    if (this.#state === "leaving") return;
    this.#state = "leaving";
    this.#listener.left(this, connectionError(this.#failure));
  }
}

/** Of what is wrong with a connection; or of its end, where nothing is. */
export function connectionError(cause: Error | undefined): ConnectError {
  if (cause instanceof ConnectError) return cause;
  const message = cause === undefined ? "the connection was closed" : messageOf(cause);
  return new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
}

/** Of several addresses that one name has in both families, Node tells the errors alone. */
function messageOf(error: Error): string {
  return error.message || ("code" in error ? String(error.code) : "the connection failed");
}
