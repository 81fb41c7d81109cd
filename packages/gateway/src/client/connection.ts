import http2 from "node:http2";
import { Code, ConnectError } from "@connectrpc/connect";
import { sizeOfFields } from "../http/headers.ts";
import { outliveStreams, sessionMegabytesMax } from "../http/session.ts";
import { answerWindows, isUnread } from "../http/windows.ts";
import {
  type GuardedSocket,
  openSocket,
  type SocketOptions,
  socketMessage,
} from "./guarded-socket.ts";

export interface ConnectionOptions extends SocketOptions {
  /** How long a server may be silent before it is asked, and how long it may then take. */
  readonly quietMsMax: number;
}

interface ConnectionListener {
  /** The server has sent its settings: it speaks HTTP/2. */
  opened(): void;
  vacated(): void;
  /** It takes no more streams. Open ones go on. Called once. */
  left(error: ConnectError, hasAnswered: boolean): void;
  closed(connection: Connection): void;
}

const headersFrame = 1;

/** As Node counts: without Huffman coding, and 32 bytes more a field. A HeaderFilter lets no more through. */
const headerBytesMax = 2 * 65_535;

const headerFieldsMax = headerBytesMax / 32;

/**
 * One HTTP/2 connection to one address. It may take `quietMsMax` to open. Then a server that owes an
 * answer and is silent for that long gets an empty SETTINGS frame, which it must acknowledge at once (RFC
 * 9113, section 6.5.3), and has as long again. So a silent connection ends two to three times `quietMsMax`
 * after the last byte that was read (gRFC A8). A ping will not do: gRPC servers end connections with more
 * than one in five minutes while they send nothing, and Node answers its own `ping()` after a GOAWAY.
 */
export class Connection {
  readonly #socket: GuardedSocket;
  readonly #session: http2.ClientHttp2Session;
  readonly #open: Iterable<http2.Http2Stream>;
  readonly #listener: ConnectionListener;
  #state: "connecting" | "open" | "leaving" = "connecting";
  /** Places that are reserved or taken. */
  streams = 0;
  /** Whether it has answered a call. */
  hasAnswered = false;
  #streamsMax = 0;
  #sentBytesMax = 0;
  #failure: Error | undefined;
  /** Streams whose headers Node could not send, for example because of a GOAWAY. */
  readonly #unsent = new Set<number>();
  /** The last stream that the server will process, from its GOAWAY. */
  #lastStreamId = Number.POSITIVE_INFINITY;
  #goawayCode: number | undefined;
  #hasSettings = false;
  readonly #outlive: ReturnType<typeof outliveStreams>;
  #bytesRead = 0;
  /** An answer is owed even if its caller cancels before the next look. */
  #isOwed = false;
  #isAsked = false;
  readonly #quietMs: number;
  #quietBytes = 0;
  #quietSince = 0;
  #wasQuiet = false;

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    const { origin, quietMsMax } = options;
    this.#quietMs = quietMsMax / 5;
    this.#listener = listener;
    const socket = openSocket(options);
    this.#socket = socket;
    const session = http2.connect(origin, {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        maxHeaderListSize: headerBytesMax,
        initialWindowSize: answerWindows.firstWindowBytes,
      },
      maxSessionMemory: sessionMegabytesMax,
      ...{ maxSessionInvalidFrames: 2 ** 32 - 1 }, // not in the types; empty ones count, too
      maxHeaderListPairs: headerFieldsMax,
      strictFieldWhitespaceValidation: false, // else nghttp2 drops a grpc-message that ends in a space
      maxSendHeaderBlockLength: 2 ** 32 - 1, // above it, Node ends the connection
    });
    this.#open = answerWindows.add(session);
    socket.onOver = this.#endWhenRead;
    const destroy = session.destroy.bind(session);
    // Node calls it for errors, such as that of a GOAWAY. What came before them counts.
    session.destroy = (...reason) => socket.finish(() => destroy(...reason));
    this.#outlive = outliveStreams(session);
    this.#session = session;
    // First read data that arrived while this process was busy.
    const timer = setInterval(() => setImmediate(this.#look), quietMsMax).unref();
    session.on("remoteSettings", (settings) => {
      this.#streamsMax = settings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY;
      this.#sentBytesMax = settings.maxHeaderListSize ?? Number.POSITIVE_INFINITY;
      this.#hasSettings = true;
      if (this.#state === "open") listener.vacated();
      else if (this.#state === "connecting") {
        this.#state = "open";
        listener.opened();
      }
    });
    session.on("goaway", (code, lastStreamId) => {
      this.#goawayCode = code;
      this.#lastStreamId = lastStreamId; // nghttp2 rejects a later one that is higher
      this.#leave();
    });
    session.on("error", (error) => (this.#failure ??= error));
    session.on("close", () => {
      clearInterval(timer);
      this.#leave();
      listener.closed(this);
    });
  }

  get isConnecting(): boolean {
    return this.#state === "connecting";
  }

  /** Whether it takes streams, or will when there is room. */
  get isOpen(): boolean {
    return this.#state === "open" && !this.isLost && !this.#session.closed;
  }

  get hasRoom(): boolean {
    return this.streams < this.#streamsMax;
  }

  /** Whether it certainly was not processed, by RST_STREAM or GOAWAY (RFC 9113, 8.7 and 6.8), or was not sent. */
  hasPassedOver({ id, rstCode }: http2.ClientHttp2Stream): boolean {
    if (id === undefined || id > this.#lastStreamId || this.#unsent.has(id)) return true;
    // Node ends all streams with the code of a GOAWAY, also those that may be processed.
    return rstCode === http2.constants.NGHTTP2_REFUSED_STREAM && rstCode !== this.#goawayCode;
  }

  get isLost(): boolean {
    return this.#session.destroyed || this.#socket.isOver;
  }

  /**
   * Whether it owes an answer and has sent nothing for a fifth of `quietMsMax`. Ask before each call. It
   * is asked then, because a stream may be quiet: where there is a server, the next call finds it there.
   */
  isQuiet(): boolean {
    const now = performance.now();
    const { bytesRead } = this.#socket;
    const hasSent = bytesRead !== this.#quietBytes;
    if (hasSent) this.#isOwed = this.streams > 0;
    if (hasSent || !this.#isOwed) this.#quietSince = now;
    this.#quietBytes = bytesRead;
    const isQuiet = now - this.#quietSince > this.#quietMs;
    if (isQuiet && !this.#wasQuiet) this.#session.settings({});
    this.#wasQuiet = isQuiet;
    return isQuiet;
  }

  /** Reserves a place for a stream. The caller then opens the stream or vacates the place. */
  reserve(): void {
    this.streams++;
  }

  vacate(): void {
    this.streams--;
    if (this.#state === "open") this.#listener.vacated();
    else this.#closeIfVacant();
  }

  /** Opens a stream, and vacates its place when it closes. @throws for invalid or too large headers. */
  open(headers: http2.OutgoingHttpHeaders): http2.ClientHttp2Stream {
    let stream: http2.ClientHttp2Stream;
    try {
      // Servers such as Netty end the connection, with the calls of others.
      if (sizeOfFields(headers) > this.#sentBytesMax) {
        const message = `the request headers are too large: the server takes ${this.#sentBytesMax} bytes`;
        throw new ConnectError(message, Code.InvalidArgument);
      }
      stream = this.#session.request(headers);
    } catch (error) {
      this.vacate();
      throw error;
    }
    this.#isOwed = true;
    answerWindows.watch();
    stream.on("close", this.#onClose);
    stream.on("close", this.#outlive(stream));
    stream.on("error", this.#onError);
    stream.on("frameError", this.#onFrameError);
    return stream;
  }

  close(): void {
    this.#leave();
    this.#closeIfVacant();
  }

  /** Not before, because servers refuse streams that arrive with a GOAWAY. */
  #closeIfVacant(): void {
    if (this.streams === 0) this.#session.close();
  }

  destroy(): void {
    this.#session.destroy();
    this.#socket.destroy(); // the session waits until the server has read everything
  }

  // Shared by all streams: creating functions for each costs more than calling them.
  readonly #onClose = () => this.vacate();

  readonly #onError = ({ code }: NodeJS.ErrnoException) => {
    // After 2^30 calls, no stream id is left (RFC 9113, section 5.1.1).
    if (code === "ERR_HTTP2_OUT_OF_STREAMS") this.close();
  };

  readonly #onFrameError = (type: number, _code: number, streamId: number) => {
    if (type === headersFrame) this.#unsent.add(streamId);
  };

  readonly #look = () => {
    const session = this.#session;
    const { bytesRead } = this.#socket;
    // It has ended its side, which the server may never do.
    if (session.destroyed) this.#socket.destroy();
    else if (this.#socket.isOver) {
      if (![...this.#open].some(isUnread)) this.#socket.destroy();
    } else if (!this.#hasSettings) this.#socket.destroy(silent());
    else if (bytesRead !== this.#bytesRead) {
      this.#bytesRead = bytesRead;
      this.#isAsked = false;
      this.#isOwed = this.streams > 0;
    } else if (this.#isAsked) this.#socket.destroy(silent());
    else if (this.#isOwed) {
      this.#isAsked = true;
      session.settings({});
    }
  };

  /** A server may close a connection after its last answer, or die amid one, while callers still read. */
  readonly #endWhenRead = (end: () => void): void => {
    const streams = [...this.#open];
    if (streams.some((one) => isUnread(one) || one.readableLength > 0)) {
      this.#leave();
      for (const stream of streams) {
        if (isUnread(stream)) continue;
        stream.close(http2.constants.NGHTTP2_CANCEL);
        stream.destroy(); // the reset may never be sent. An attempt keeps what is unread
      }
    }
    const unread = streams.find(isUnread);
    if (unread === undefined) end();
    else unread.once("close", () => this.#endWhenRead(end));
  };

  #leave(): void {
    if (this.#state === "leaving") return;
    this.#state = "leaving";
    const failure = this.#hasSettings ? this.#failure : withReason(this.#failure);
    this.#listener.left(connectionError(failure), this.hasAnswered);
  }
}

/** Why a connection did not open. The words of nghttp2 do not say what to change. */
function withReason(cause: NodeJS.ErrnoException | undefined): Error | undefined {
  if (cause !== undefined && cause.code !== "ERR_HTTP2_ERROR") return cause;
  const reason =
    cause === undefined
      ? "the server closed the connection before it spoke HTTP/2; it may expect TLS, or a client certificate"
      : "the server does not speak HTTP/2";
  return new ConnectError(reason, Code.Unavailable, undefined, undefined, cause);
}

/** A new one for each call, which may change it. @param cause Undefined if it only ended. */
export function connectionError(cause: Error | undefined): ConnectError {
  if (cause instanceof ConnectError) {
    return new ConnectError(cause.rawMessage, cause.code, undefined, undefined, cause);
  }
  const { code = "the connection failed" }: NodeJS.ErrnoException = cause ?? new Error();
  // An error for several addresses has no message of its own, only a code.
  const message = cause === undefined ? "the connection was closed" : socketMessage(cause) || code;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, cause);
}

function silent(): ConnectError {
  return new ConnectError("the server does not answer", Code.Unavailable);
}
