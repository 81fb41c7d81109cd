/** Bodies in base64 (RFC 4648 section 4), for gRPC-Web over text. */
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";

const utf8 = new TextEncoder();
const latin1 = new TextDecoder("latin1");

/** Encodes bytes in complete groups of four characters, with padding, so that clients can decode them at once. */
export function base64Of(bytes: Uint8Array): Uint8Array {
  return utf8.encode(base64Encode(bytes));
}

/** Decodes a body as it arrives. Each message in it may have its own padding. */
export class Base64Decoder {
  #rest = "";

  push(chunk: Uint8Array): Uint8Array {
    const text = this.#rest + latin1.decode(chunk);
    const whole = text.length - (text.length % 4);
    this.#rest = text.slice(whole);
    const groups = text.slice(0, whole);
    if (!wholeGroups.test(groups)) throw notBase64();
    const parts = groups.match(/[^=]+=*/g) ?? [];
    const decoded = parts.map((part) => base64Decode(part));
    const bytes = new Uint8Array(decoded.reduce((length, part) => length + part.length, 0));
    let end = 0;
    for (const part of decoded) {
      bytes.set(part, end);
      end += part.length;
    }
    return bytes;
  }

  /** @throws {ConnectError} INVALID_ARGUMENT if a group is incomplete. */
  end(): void {
    if (this.#rest !== "") throw notBase64();
  }
}

const wholeGroups = /^(?:[A-Za-z\d+/]{4}|[A-Za-z\d+/]{3}=|[A-Za-z\d+/]{2}==)*$/;

function notBase64(): ConnectError {
  return new ConnectError("protocol error: the body is not base64", Code.InvalidArgument);
}
