import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type Compression, compressedFlag } from "@connectrpc/connect/protocol";
import { type Envelope, EnvelopeSplitter, wrapEnvelope } from "../rpc/envelope-splitter.ts";
import { compressionGzip } from "../rpc/gzip.ts";
import { type UnpackOptions, unpack } from "../rpc/unpack.ts";
import type { Head } from "./answer.ts";

/** How one answer is read. */
export interface AnswerOptions extends UnpackOptions {
  readonly head: Head;
}

/** The messages of one method, in their envelopes. */
export class MessageCodec<I extends DescMessage, O extends DescMessage> {
  readonly #input: I;
  readonly #output: O;

  constructor({ input, output }: DescMethod & { readonly input: I; readonly output: O }) {
    this.#input = input;
    this.#output = output;
  }

  serialize(init: MessageInitShape<I>): Uint8Array {
    const message = create(this.#input, init);
    return wrapEnvelope(0, toBinary(this.#input, message));
  }

  /** The one message of a whole answer. @throws {ConnectError} */
  parseOne(body: Uint8Array, options: AnswerOptions): MessageShape<O> | Promise<MessageShape<O>> {
    const splitter = new EnvelopeSplitter(options.readMaxBytes);
    const [envelope, another] = splitter.push(body);
    if (splitter.isAmid) throw cutShort();
    if (envelope === undefined) throw notOne("no message");
    if (another !== undefined) throw notOne("more than one message");
    const opened = open(envelope, options);
    if (opened instanceof Promise) return opened.then((bytes) => this.#parse(bytes));
    return this.#parse(opened);
  }

  /** The messages of an answer, as they come. @throws {ConnectError} */
  async *parseAll(
    chunks: AsyncIterable<Uint8Array>,
    options: AnswerOptions,
  ): AsyncGenerator<MessageShape<O>> {
    const splitter = new EnvelopeSplitter(options.readMaxBytes);
    let kept = 0;
    for await (const chunk of chunks) {
      let unpacked = 0;
      for (const envelope of splitter.push(chunk)) {
        const whole = await open(envelope, options);
        if (whole !== envelope.data) unpacked += whole.byteLength;
        yield this.#parse(whole);
      }
      // What has come of the next message is kept; what came whole is done with.
      const more = splitter.pendingBytes - kept;
      kept += more;
      const room = options.holding?.add(more - unpacked);
      if (room !== undefined) await room;
    }
    if (splitter.isAmid) throw cutShort();
  }

  #parse(bytes: Uint8Array): MessageShape<O> {
    try {
      return fromBinary(this.#output, bytes);
    } catch (cause) {
      const message = `the answer is no ${this.#output.typeName}`;
      throw new ConnectError(message, Code.Internal, undefined, undefined, cause);
    }
  }
}

const compressions: ReadonlyMap<string, Compression> = new Map([
  [compressionGzip.name, compressionGzip],
]);

/** What a server may compress its answers with. */
export const acceptEncoding: string = [...compressions.keys()].join(",");

function open(
  { flags, data }: Envelope,
  { head, ...options }: AnswerOptions,
): Uint8Array | Promise<Uint8Array> {
  if ((flags & compressedFlag) === 0) return data;
  const encoding = head["grpc-encoding"];
  const compression = compressions.get(`${encoding}`);
  if (compression !== undefined) return unpack(data, compression, options);
  const message = `the answer is compressed with ${encoding ?? "nothing that it names"}`;
  throw new ConnectError(message, Code.Internal);
}

function cutShort(): ConnectError {
  return new ConnectError("the answer ended amid a message", Code.Internal);
}

/** As clients of gRPC have it: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
function notOne(what: string): ConnectError {
  return new ConnectError(`the answer of a unary method has ${what}`, Code.Unimplemented);
}
