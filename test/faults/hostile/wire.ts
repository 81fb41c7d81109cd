/** What attackers send, byte by byte. */
import {
  fieldBlock,
  flag,
  frame,
  frameType,
  uint32,
} from "../../../packages/gateway/test/support/frames.ts";
import { fields } from "../../support/malformed/http2.ts";

export { uint32 };

export const strangerToken = "a-token-that-nobody-knows";

/** A request over HTTP/1.1, up to its token, and what follows. */
export function http1(line: string, token: string, rest: string): Buffer {
  const head = `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n`;
  return Buffer.from(head + rest, "latin1");
}

/** The fields of a request over HTTP/2, except for these. */
export function blockOf(other: Parameters<typeof fields>[0] = {}): Buffer {
  return fieldBlock(fields(other));
}

export const strangerBlock: Buffer = blockOf({ authorization: `Bearer ${strangerToken}` });

export function headers(streamId = 1, payload = strangerBlock, flags: number = flag.endHeaders) {
  return frame(frameType.headers, { flags, streamId, payload });
}

export function data(streamId: number, content: string | Buffer, flags = 0): Buffer {
  const payload = Buffer.from(content as string, "latin1");
  return frame(frameType.data, { flags, streamId, payload });
}

export function windowUpdate(streamId: number, by: number): Buffer {
  return frame(frameType.windowUpdate, { streamId, payload: uint32(by) });
}

export function priority(streamId: number, payload: Buffer): Buffer {
  return frame(2, { streamId, payload });
}

export function reset(streamId: number, payload: Buffer = uint32(8)): Buffer {
  return frame(frameType.rstStream, { streamId, payload });
}

/** One value of a settings frame. */
export function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.of(0, id), uint32(value)]);
}
