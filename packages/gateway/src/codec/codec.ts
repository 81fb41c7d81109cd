import {
  type DescMessage,
  type DescMethod,
  fromBinary,
  type MessageShape,
  type toBinary,
} from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { getJsonOptions, type UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { type Body, byteLengthOf } from "../http/body.ts";
import {
  messageFromJson,
  messageToJson,
  type OnUnknownType,
  parseJson,
  telling,
} from "./json-messages.ts";
import type { JsonOptions } from "./json-scalar.ts";
import { toBytes, unreadMessage } from "./passed.ts";
import { badRequest, FieldViolation } from "./violation.ts";
import { assertWireFormat } from "./wire-format.ts";

export type Message = MessageShape<DescMessage>;

export interface Codec {
  /** @throws {ConnectError} INVALID_ARGUMENT. */
  readonly parse: (bytes: Uint8Array) => Message;
  /** @throws {ConnectError} INTERNAL, or RESOURCE_EXHAUSTED above `writeMaxBytes`. */
  readonly serialize: (message: Message) => Body;
}

export type Codecs = Readonly<Record<"binary" | "json", Codec>>;

type CodecOptions = Pick<
  UniversalHandlerOptions,
  "binaryOptions" | "jsonOptions" | "writeMaxBytes"
> & {
  readonly onUnknownType?: OnUnknownType;
  readonly passesOn?: boolean;
  readonly writeBinary?: typeof toBinary | undefined;
};

export function createCodecs({ input, output }: DescMethod, options: CodecOptions): Codecs {
  const { binaryOptions, writeMaxBytes, passesOn, writeBinary } = options;
  const jsonOptions = getJsonOptions(options.jsonOptions) as JsonOptions;
  const writerOptions = telling(jsonOptions, options.onUnknownType);
  const parse = (bytes: Uint8Array) =>
    attempt("parse binary", Code.InvalidArgument, () => {
      // Before anything is created from them, because a few bytes can become much.
      assertWireFormat(input, bytes, binaryOptions?.recursionLimit);
      return fromBinary(input, bytes, binaryOptions);
    });
  return {
    binary: {
      parse: passesOn ? (bytes) => unreadMessage(input, bytes) : parse,
      serialize: (message) =>
        attempt("serialize binary", Code.Internal, () =>
          fitting(toBytes(output, message, writeBinary, binaryOptions), writeMaxBytes),
        ),
    },
    json: {
      parse: (bytes) => messageFromJson(input, parseJson(bytes), jsonOptions),
      serialize: (message) =>
        fitting(JSON.stringify(messageToJson(output, message, writerOptions)), writeMaxBytes),
    },
  };
}

function attempt<T>(what: string, code: Code, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    if (cause instanceof FieldViolation) throw badRequest([cause]);
    if (cause instanceof ConnectError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new ConnectError(`${what}: ${reason}`, code);
  }
}

function fitting<T extends Body>(body: T, bytesMax: number): T {
  const size = byteLengthOf(body);
  if (size > bytesMax) throw answerTooLarge(size, bytesMax);
  return body;
}

/** The error of a message above `readMaxBytes`, compressed or not, on every protocol. */
export function messageTooLarge(bytesMax: number, cause?: unknown): ConnectError {
  const message = `a message must not be larger than ${bytesMax} bytes`;
  return new ConnectError(message, Code.ResourceExhausted, undefined, undefined, cause);
}

export function answerTooLarge(size: number, bytesMax: number): ConnectError {
  const message = `message size ${size} is larger than configured writeMaxBytes ${bytesMax}`;
  return new ConnectError(message, Code.ResourceExhausted);
}
