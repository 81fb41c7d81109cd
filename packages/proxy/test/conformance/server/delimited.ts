/** Messages on the suite's standard streams: four bytes of length, big-endian, then the message. */
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";

const prefixLength = 4;

/** The first message of a stream, of which nothing else is read. */
export async function readMessage<Desc extends DescMessage>(
  schema: Desc,
  stream: NodeJS.ReadableStream,
): Promise<MessageShape<Desc>> {
  for await (const message of readMessages(schema, stream)) return message;
  throw new Error("the stream ended within a message");
}

/** The messages of a stream. */
export async function* readMessages<Desc extends DescMessage>(
  schema: Desc,
  stream: NodeJS.ReadableStream,
): AsyncGenerator<MessageShape<Desc>> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of stream) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    while (bytes.length >= prefixLength) {
      const end = prefixLength + bytes.readUInt32BE();
      if (bytes.length < end) break;
      yield fromBinary(schema, bytes.subarray(prefixLength, end));
      bytes = bytes.subarray(end);
    }
  }
}

export function writeMessage<Desc extends DescMessage>(
  schema: Desc,
  message: MessageInitShape<Desc>,
  stream: NodeJS.WritableStream,
): void {
  const bytes = toBinary(schema, create(schema, message));
  const prefix = Buffer.alloc(prefixLength);
  prefix.writeUInt32BE(bytes.length);
  stream.write(Buffer.concat([prefix, bytes]));
}
