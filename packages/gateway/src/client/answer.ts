/** The outcome of an answer, from its head and its end: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
import { isUtf8 } from "node:buffer";
import type { IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { codeFromHttpStatus } from "@connectrpc/connect/protocol-grpc";
import { type Status, StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import { passesOn, toBytes, unreadMessage } from "../codec/passed.ts";
import { FieldViolation } from "../codec/violation.ts";
import { assertWireFormat, writeBinary } from "../codec/wire-format.ts";
import { LazyHeaders } from "../http/headers.ts";
import { compressionGzip } from "../rpc/compression.ts";
import { type EnvelopeErrors, type EnvelopeReading, wrapEnvelope } from "../rpc/envelope.ts";
import { isTooLarge } from "../rpc/unpack.ts";
import { omittedField } from "./header-filter.ts";

export type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

/** An error that a server has answered, with its header and trailer. */
export class AnswerError extends ConnectError {
  readonly header: Headers;
  readonly trailer: Headers;

  constructor(error: ConnectError, head: Head, end: IncomingHttpHeaders) {
    const header = new LazyHeaders(head);
    const trailer = new LazyHeaders(end);
    super(error.rawMessage, error.code, [...header, ...trailer]);
    this.details = error.details;
    this.isWireError = true;
    this.header = header;
    this.trailer = trailer;
  }

  /** ConnectError's own check accepts everything that looks like one. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof ConnectError && Object.getPrototypeOf(value) === AnswerError.prototype;
  }
}

/** The error that the head alone shows; undefined if there is none yet. */
export function headError(head: Head): ConnectError | undefined {
  const { ":status": status = 0, "content-type": type = "no content type" } = head;
  const isGrpc = grpcType.test(type);
  if (status === 200 && isGrpc) {
    const isUsable = head[omittedField] === undefined || head["grpc-status"] !== undefined;
    return isUsable ? undefined : tooLarge();
  }
  // Even an answer that is not gRPC may have a gRPC status. Its other fields are no metadata: the error
  // page of a proxy in between may set cookies, or allow caches to keep it.
  const { "grpc-status": own = "0" } = head;
  const message = `HTTP status ${status} with ${type}, which is not gRPC`;
  const error =
    own === "0"
      ? new ConnectError(message, codeFromHttpStatus(status))
      : parseStatus(`${own}`, head);
  return new AnswerError(error, {}, isGrpc ? head : {});
}

const grpcType = /^application\/grpc(?:$|[+;])/;

/** The error in the end of an answer; undefined for success. Head and end may be the same. */
export function statusError(head: Head, end: IncomingHttpHeaders): ConnectError | undefined {
  const status = end["grpc-status"];
  if (status === "0") return end[omittedField] === undefined ? undefined : tooLarge();
  if (status === undefined) return noStatus(head);
  return new AnswerError(parseStatus(`${status}`, end), head === end ? {} : head, end);
}

/** A success may need the fields that were left out. An error does not. */
function tooLarge(): ConnectError {
  return new ConnectError("the answer has headers over 64 KiB", Code.ResourceExhausted);
}

/** The error of an answer without a status, which may be incomplete. */
export function noStatus(head: Head): AnswerError {
  const message = "the answer ended without a gRPC status";
  return new AnswerError(new ConnectError(message, Code.Internal), head, {});
}

/** Keeps the code of `grpc-status` and the message, even if the details cannot be read. */
function parseStatus(status: string, trailer: IncomingHttpHeaders): ConnectError {
  if (!/^\d+$/.test(status)) {
    return new ConnectError(`invalid grpc-status: ${status}`, Code.Internal);
  }
  const code = Number(status);
  const { message, details } = parseDetails(trailer["grpc-status-details-bin"]);
  const text = parseMessage(`${trailer["grpc-message"] ?? ""}`) || message;
  const error = new ConnectError(text, code in Code ? code : Code.Unknown);
  error.details = details.map(({ typeUrl, value }) => ({
    type: typeUrl.slice(typeUrl.lastIndexOf("/") + 1),
    value,
  }));
  return error;
}

/** The text as it is if it is not percent-encoded UTF-8. */
function parseMessage(encoded: string): string {
  const decoded = encoded.replaceAll(/%([\da-f]{2})/gi, (_, hex) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const bytes = Buffer.from(decoded, "latin1");
  return isUtf8(bytes) ? bytes.toString() : encoded;
}

function parseDetails(base64: string | string[] = ""): Pick<Status, "message" | "details"> {
  try {
    return fromBinary(StatusSchema, Buffer.from(`${base64}`, "base64"));
  } catch {
    return { message: "", details: [] };
  }
}

export type ReadLimits = Pick<EnvelopeReading<unknown>, "readMaxBytes" | "readMaxValues">;

/** How the messages of a method are written and read. */
export function createMethodCodec<I extends DescMessage, O extends DescMessage>(
  input: I,
  output: O,
) {
  const pass = (bytes: Uint8Array) => unreadMessage(output, bytes);
  const parse = (bytes: Uint8Array): MessageShape<O> => {
    try {
      // Before anything is created from them, because a few bytes can become much.
      assertWireFormat(output, bytes);
      return fromBinary(output, bytes);
    } catch (cause) {
      const isLarge = cause instanceof FieldViolation;
      const message = `the answer ${isLarge ? cause.description : `is no ${output.typeName}`}`;
      const code = isLarge ? Code.ResourceExhausted : Code.Internal;
      throw new ConnectError(message, code, undefined, undefined, cause);
    }
  };
  return {
    serialize: (init: MessageInitShape<I>): Uint8Array =>
      wrapEnvelope(0, toBytes(input, create(input, init), writeBinary)),
    /** @param values May have `passesOn`. */
    reading(head: Head, limits: ReadLimits, values?: ContextValues) {
      const compression = compressionOf(head);
      const own = { compression, endFlag: 0, errors: answerErrors };
      return { ...limits, ...own, parse: values?.get(passesOn) ? pass : parse };
    },
  };
}

function compressionOf({ "grpc-encoding": encoding }: Head): Compression {
  if (encoding === compressionGzip.name) return answerGzip;
  const message = `the answer is compressed with ${encoding ?? "nothing that it names"}`;
  const decompress = () => Promise.reject(new ConnectError(message, Code.Internal));
  return { name: `${encoding}`, compress: decompress, decompress };
}

/** What is wrong with an answer is not the caller's argument. */
const answerGzip: Compression = {
  ...compressionGzip,
  decompress: (bytes, readMaxBytes) =>
    compressionGzip.decompress(bytes, readMaxBytes).catch((cause) => {
      if (isTooLarge(cause)) throw cause;
      const message = "the answer cannot be decompressed";
      throw new ConnectError(message, Code.Internal, undefined, undefined, cause);
    }),
};

/** As clients of gRPC have it: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
const answerErrors: EnvelopeErrors = {
  incomplete: () => new ConnectError("the answer ended amid a message", Code.Internal),
  missing: () => notOne("no message"),
  extra: () => notOne("more than one message"),
};

function notOne(what: string): ConnectError {
  return new ConnectError(`the answer of a unary method has ${what}`, Code.Unimplemented);
}
