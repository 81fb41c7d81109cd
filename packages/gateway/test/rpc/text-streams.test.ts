/** gRPC-Web-text, the only mode in which Google's client for browsers takes streams. */
import { buffer } from "node:stream/consumers";
import { fromBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { Base64Decoder } from "../../src/rpc/envelope.ts";
import { EveryFieldSchema, FieldService } from "../gen/library/v1/fields_pb.ts";
import { openFields } from "../support/echo.ts";
import { envelope, parseEnvelopes } from "../support/envelope.ts";
import { within } from "../support/within.ts";

const path = `/${FieldService.typeName}/Repeat`;
const headers = { "content-type": "application/grpc-web-text+proto", "x-grpc-web": "1" };
const body = envelope("").toString("base64");

/** Calls `Repeat` with an empty message. Yields each piece of the answer, decoded. */
async function* callRepeat(origin: string): AsyncGenerator<Buffer> {
  const response = await fetch(origin + path, { method: "POST", headers, body });
  for await (const piece of response.body ?? []) yield decodePiece(Buffer.from(piece));
}

/** @throws if a piece is no whole groups, each part with its own padding. */
function decodePiece(piece: Buffer): Buffer {
  const text = piece.toString("latin1");
  if (text.length % 4 !== 0) throw new Error(`no whole groups: ${text}`);
  return Buffer.concat([...text.matchAll(/[^=]+=*/g)].map(([part]) => Buffer.from(part, "base64")));
}

test("a stream of gRPC-Web-text has each message at once, in whole groups, and its trailers last", async () => {
  const taken = Promise.withResolvers<void>();
  async function* repeat() {
    yield { string: "one" };
    await taken.promise;
    yield { string: "three" };
  }
  await using gateway = await openFields({ repeat });
  const pieces = callRepeat(gateway.origin("1.1"));
  const { value: first } = await within("the first message", pieces.next());
  const [one] = parseEnvelopes(first as Buffer);
  expect(fromBinary(EveryFieldSchema, one?.message ?? Buffer.of()).string).toBe("one");
  taken.resolve();
  const rest = parseEnvelopes(await within("the end", buffer(pieces)));
  expect(rest.map(({ flags }) => flags)).toEqual([0, 0x80]);
  expect(rest[1]?.message.toString()).toContain("grpc-status: 0");
});

/** Decodes text that comes in pieces, each character one byte. */
function decode(...pieces: string[]): string {
  const decoder = new Base64Decoder();
  const decoded = pieces.map((piece) => decoder.push(Buffer.from(piece, "latin1")));
  decoder.end();
  return Buffer.concat(decoded).toString("latin1");
}

test.each([1, 2, 3, 4, 5, 7, 12])(
  "messages in base64 with their padding come in pieces of %d",
  (length) => {
    const pieces = "YQ==YWI=YWJj".match(new RegExp(`.{1,${length}}`, "g")) ?? [];
    expect(decode(...pieces)).toBe("aababc");
  },
);

test.each([
  ...["AAAA!!!!", "!!!!AAAA", "AA-_", "A===", "====", "AA=A", "AA A", "AAAA\r\nAA", "AAA\xe9"],
  ...["A", "AA=", "AAAAAAA"],
])("%j is refused as base64", (text) => {
  expect(() => decode(text)).toThrow(
    expect.objectContaining({ code: Code.InvalidArgument, rawMessage: expect.any(String) }),
  );
});
