/** Messages on the suite's standard streams: four bytes of length, big-endian, then the message. */
import { buffer } from "node:stream/consumers";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";

const prefixLength = 4;

/** The single message that the suite writes before it closes the stream. */
export async function readMessage<Desc extends DescMessage>(
  schema: Desc,
  stream: NodeJS.ReadableStream,
): Promise<MessageShape<Desc>> {
  const bytes = await buffer(stream);
  return fromBinary(schema, bytes.subarray(prefixLength, prefixLength + bytes.readUInt32BE()));
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
