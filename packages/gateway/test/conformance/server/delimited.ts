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
  let bytes = Buffer.alloc(0);
  for await (const chunk of stream) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    if (bytes.length < prefixLength) continue;
    const end = prefixLength + bytes.readUInt32BE();
    if (bytes.length >= end) return fromBinary(schema, bytes.subarray(prefixLength, end));
  }
  throw new Error("the stream ended within a message");
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
