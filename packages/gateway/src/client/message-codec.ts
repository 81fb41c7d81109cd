import {
  create,
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { writeBinary } from "../codec/binary-writer.ts";
import type { EnvelopeErrors, EnvelopeReading } from "../rpc/envelope.ts";
import { wrapEnvelope } from "../rpc/envelope-splitter.ts";
import { compressionGzip } from "../rpc/gzip.ts";
import type { Head } from "./answer.ts";

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
    return wrapEnvelope(0, writeBinary(this.#input, message));
  }

  /** How to read the answer with a head. */
  reading(head: Head, readMaxBytes: number): EnvelopeReading<MessageShape<O>> {
    const compression = compressionOf(head);
    return { compression, readMaxBytes, endFlag: 0, parse: this.#parse, errors: answerErrors };
  }

  readonly #parse = (bytes: Uint8Array): MessageShape<O> => {
    try {
      return fromBinary(this.#output, bytes);
    } catch (cause) {
      const message = `the answer is no ${this.#output.typeName}`;
      throw new ConnectError(message, Code.Internal, undefined, undefined, cause);
    }
  };
}

/** What a server may compress its answers with. */
export const acceptEncoding: string = compressionGzip.name;

function compressionOf({ "grpc-encoding": encoding }: Head): Compression {
  if (encoding === compressionGzip.name) return compressionGzip;
  const message = `the answer is compressed with ${encoding ?? "nothing that it names"}`;
  const decompress = () => Promise.reject(new ConnectError(message, Code.Internal));
  return { name: `${encoding}`, compress: decompress, decompress };
}

/** As clients of gRPC have it: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
const answerErrors: EnvelopeErrors = {
  incomplete: () => new ConnectError("the answer ended amid a message", Code.Internal),
  missing: () => notOne("no message"),
  extra: () => notOne("more than one message"),
};

function notOne(what: string): ConnectError {
  return new ConnectError(`the answer of a unary method has ${what}`, Code.Unimplemented);
}
