import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitArray, splitLines } from "../../src/rest/stream/json-stream.ts";

type Split = typeof splitLines;

async function* chunksOf(pieces: readonly (string | Uint8Array)[]) {
  for (const piece of pieces) yield Buffer.from(piece as string);
}

/** The texts found in the bytes, split into these pieces. */
async function textsOf(split: Split, pieces: readonly (string | Uint8Array)[], bytesMax = 1000) {
  const texts: string[] = [];
  for await (const text of split(chunksOf(pieces), { valueBytesMax: bytesMax })) {
    texts.push(Buffer.from(text).toString());
  }
  return texts;
}

async function codeOf(split: Split, text: string, bytesMax = 1000): Promise<Code | "accepted"> {
  try {
    await textsOf(split, [text], bytesMax);
  } catch (error) {
    if (error instanceof ConnectError) return error.code;
    throw error;
  }
  return "accepted";
}

/** The bytes, split at the places, given as fractions of the length. */
function cut(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => Math.floor(place * bytes.length)), bytes.length];
  at.sort((a, b) => a - b);
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

const places = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 });
const space = fc.constantFrom("", " ", "\t", "\r", "  \t");
const wideSpace = fc.oneof(space, fc.constantFrom("\n", "\r\n", " \n "));
const values = fc.array(fc.jsonValue({ noUnicodeString: false }), { maxLength: 6 });

describe("lines", () => {
  test.each<[what: string, text: string, texts: string[]]>([
    ["nothing", "", []],
    ["one", '{"a":1}\n', ['{"a":1}']],
    ["the last without its end", "1\n2", ["1", "2"]],
    ["blank ones", "\n1\n\n \t\r\n2\n\n", ["1", "2"]],
    ["with a carriage return", "1\r\n2\r\n", ["1\r", "2\r"]],
    ["what is no JSON, too", "{\n]\n", ["{", "]"]],
    ["a carriage return alone ends none", "1\r2", ["1\r2"]],
    ["a line separator ends none", '"\u2028"\n', ['"\u2028"']],
  ])("%s", async (_what, text, texts) => {
    expect(await textsOf(splitLines, [text])).toEqual(texts);
  });

  test("are the same in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(values, space, places, async (given, blank, where) => {
        const text = given.map((value) => `${blank}${JSON.stringify(value)}${blank}\n${blank}\n`);
        const pieces = cut(Buffer.from(text.join("")), where);
        const found = await textsOf(splitLines, pieces, 1_000_000);
        expect(found.map((line) => JSON.stringify(JSON.parse(line)))).toEqual(
          given.map((value) => JSON.stringify(value)),
        );
      }),
    );
  });

  test.each<[length: number, code: Code | "accepted"]>([
    [10, "accepted"],
    [11, Code.ResourceExhausted],
  ])("one of %s bytes with a limit of 10: %s", async (length, code) => {
    expect(await codeOf(splitLines, `1\n${"a".repeat(length)}\n1`, 10)).toBe(code);
    expect(await codeOf(splitLines, "a".repeat(length), 10)).toBe(code);
  });

  test("the limit applies to each, not to all together", async () => {
    expect(await textsOf(splitLines, ["12345\n".repeat(100)], 10)).toHaveLength(100);
  });
});

describe("an array", () => {
  test.each<[what: string, text: string, texts: string[]]>([
    ["of nothing", "[]", []],
    ["of nothing but space", " [ \n ] \n", []],
    ["of one", '[{"a":1}]', ['{"a":1}']],
    ["of two", "[1,2]", ["1", "2"]],
    ["of arrays", "[[1,2],[],[[3]]]", ["[1,2]", "[]", "[[3]]"]],
    ["with commas within", '[{"a":1,"b":[2,3]},4]', ['{"a":1,"b":[2,3]}', "4"]],
    ["with brackets in strings", '["]","[","}","{",","]', ['"]"', '"["', '"}"', '"{"', '","']],
    [
      "as deep as a message by itself",
      `[${"[".repeat(200)}${"]".repeat(200)}]`,
      [`${"[".repeat(200)}${"]".repeat(200)}`],
    ],
    ["with quotes in strings", '["\\"]",1]', ['"\\"]"', "1"]],
    ["with backslashes in strings", '["\\\\",1]', ['"\\\\"', "1"]],
    ["in space", "\r\n\t [ 1 , 2 ] \n", [" 1 ", " 2 "]],
    // The reader of the texts rejects them: they are not JSON.
    ["with a comma too many", "[1,]", ["1", ""]],
    ["with a comma alone", "[,]", ["", ""]],
    ["with a comma missing", "[1 2]", ["1 2"]],
  ])("%s", async (_what, text, texts) => {
    expect(await textsOf(splitArray, [text])).toEqual(texts);
    expect(
      await textsOf(
        splitArray,
        [...Buffer.from(text)].map((byte) => Buffer.of(byte)),
      ),
    ).toEqual(texts);
  });

  test("is the same in any pieces", async () => {
    await fc.assert(
      fc.asyncProperty(values, wideSpace, places, async (given, blank, where) => {
        const elements = given.map((value) => blank + JSON.stringify(value, null, 1) + blank);
        const text = `${blank}[${elements.join(",") || blank}]${blank}`;
        const found = await textsOf(splitArray, cut(Buffer.from(text), where), 1_000_000);
        expect(found.map((element) => JSON.stringify(JSON.parse(element)))).toEqual(
          given.map((value) => JSON.stringify(value)),
        );
      }),
    );
  });

  test.each([
    ["nothing", ""],
    ["space", " \n"],
    ["an object", "{}"],
    ["a string", '"[]"'],
    ["a number", "1"],
    ["a byte order mark", "\ufeff[]"],
    ["lines", "{}\n{}"],
    ["an array that does not end", "[1"],
    ["an array that ends in a string", '["]'],
    ["an array within one that does not end", "[[]"],
    ["something behind it", "[1]2"],
    ["a second array", "[1] [2]"],
    ["a bracket too many", "[]]"],
    ["another bracket at its end", "[{}}"],
    ["another bracket, behind a comma", "[{},{}}"],
    ["a comma behind it", "[],"],
  ])("is not %s", async (_what, text) => {
    expect(await codeOf(splitArray, text)).toBe(Code.InvalidArgument);
  });

  test.each<[length: number, code: Code | "accepted"]>([
    [10, "accepted"],
    [11, Code.ResourceExhausted],
  ])("an element of %s bytes with a limit of 10: %s", async (length, code) => {
    expect(await codeOf(splitArray, `[1,${"a".repeat(length)},1]`, 10)).toBe(code);
    expect(await codeOf(splitArray, `[${"a".repeat(length)}]`, 10)).toBe(code);
  });

  test("an element that is too large is rejected before its end", async () => {
    const endless = async function* () {
      yield Buffer.from("[");
      for (;;) yield Buffer.from("1");
    };
    const elements = splitArray(endless(), { valueBytesMax: 1000 });
    await expect(elements.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });

  test("its elements arrive before it ends", async () => {
    const openEnd = Promise.withResolvers<void>();
    const slow = async function* () {
      yield Buffer.from("[1,2,");
      await openEnd.promise;
      yield Buffer.from("3]");
    };
    const elements = splitArray(slow(), { valueBytesMax: 1000 });
    const next = async () => Buffer.from((await elements.next()).value ?? []).toString();
    expect([await next(), await next()]).toEqual(["1", "2"]);
    openEnd.resolve();
    expect(await next()).toBe("3");
    expect(await elements.next()).toMatchObject({ done: true });
  });
});

describe.each<[what: string, split: Split]>([
  ["lines", splitLines],
  ["an array", splitArray],
])("%s that nobody continues to read", (_what, split) => {
  test("end their source", async () => {
    let isEnded = false;
    const source = async function* () {
      try {
        for (;;) yield Buffer.from(split === splitLines ? "1\n" : "[1,");
      } finally {
        isEnded = true;
      }
    };
    for await (const _ of split(source(), { valueBytesMax: 10 })) break;
    expect(isEnded).toBe(true);
  });
});
