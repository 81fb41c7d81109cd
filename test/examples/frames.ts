/** A frame of HTTP/2, whole. */
export interface Frame {
  readonly type: number;
  readonly stream: number;
  readonly bytes: Buffer;
}

const headerBytes = 9;

/** Takes pieces of a stream of frames (RFC 9113 section 4.1) and gives the frames. */
export function splitFrames(onFrame: (frame: Frame) => void): (piece: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    while (rest.length >= headerBytes) {
      const end = headerBytes + rest.readUIntBE(0, 3);
      if (rest.length < end) return;
      const bytes = rest.subarray(0, end);
      rest = rest.subarray(end);
      onFrame({ type: bytes.readUInt8(3), stream: bytes.readUInt32BE(5) & 0x7fffffff, bytes });
    }
  };
}
