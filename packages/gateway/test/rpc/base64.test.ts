import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { Base64Decoder, base64Of } from "../../src/rpc/envelope.ts";

/** Decodes text that comes in pieces, each character one byte. */
function decode(...pieces: string[]): string {
  const decoder = new Base64Decoder();
  const decoded = pieces.map((piece) => decoder.push(Buffer.from(piece, "latin1")));
  decoder.end();
  return Buffer.concat(decoded).toString("latin1");
}

test.each(["", "a", "ab", "abc", "\xff\xfe~?>"])("%j is encoded and decoded", (text) => {
  const bytes = Buffer.from(text, "latin1");
  const encoded = Buffer.from(base64Of(bytes)).toString();
  expect(encoded).toBe(bytes.toString("base64"));
  expect(decode(encoded)).toBe(text);
});

test.each([1, 2, 3, 4, 5, 7, 12])("messages with their padding come in pieces of %d", (length) => {
  const pieces = "YQ==YWI=YWJj".match(new RegExp(`.{1,${length}}`, "g")) ?? [];
  expect(decode(...pieces)).toBe("aababc");
});

test.each([
  ...["AAAA!!!!", "!!!!AAAA", "AA-_", "A===", "====", "AA=A", "AA A", "AAAA\r\nAA", "AAA\xe9"],
  ...["A", "AA=", "AAAAAAA"],
])("%j is refused", (text) => {
  expect(() => decode(text)).toThrow(
    expect.objectContaining({ code: Code.InvalidArgument, rawMessage: expect.any(String) }),
  );
});
