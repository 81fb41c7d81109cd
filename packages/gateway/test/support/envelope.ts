/**
 * A message in an envelope of gRPC, gRPC-Web or Connect: one byte of flags, a length, the bytes.
 */
export function envelope(message: Uint8Array | string, flags = 0): Buffer<ArrayBuffer> {
  const bytes = Buffer.from(message as Uint8Array);
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

export interface Envelope {
  readonly flags: number;
  readonly message: Buffer;
}

export function parseEnvelopes(bytes: Buffer): Envelope[] {
  const envelopes: Envelope[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 5 + bytes.readUInt32BE(at + 1);
    envelopes.push({ flags: bytes.readUInt8(at), message: bytes.subarray(at + 5, end) });
    at = end;
  }
  return envelopes;
}
