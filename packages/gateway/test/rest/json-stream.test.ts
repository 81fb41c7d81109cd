import { Code, ConnectError } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { splitArray, splitLines } from "../../src/rest/stream/json-stream.ts";
import { anyCharacter } from "../support/any-character.ts";

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
const values = fc.array(fc.jsonValue({ stringUnit: anyCharacter }), { maxLength: 6 });

test.each<[what: string, text: string, texts: string[]]>([
  ["with a carriage return", "1\r\n2\r\n", ["1\r", "2\r"]],
  ["what is no JSON, too", "{\n]\n", ["{", "]"]],
  ["a carriage return alone ends none", "1\r2", ["1\r2"]],
  ["a line separator ends none", '"\u2028"\n', ['"\u2028"']],
])("lines %s", async (_what, text, texts) => {
  expect(await textsOf(splitLines, [text])).toEqual(texts);
});

describe("an array", () => {
  test.each<[what: string, text: string, texts: string[]]>([
    ["with brackets in strings", '["]","[","}","{",","]', ['"]"', '"["', '"}"', '"{"', '","']],
    ["as deep", `[${"[".repeat(200)}${"]".repeat(200)}]`, [`${"[".repeat(200)}${"]".repeat(200)}`]],
    ["with quotes in strings", '["\\"]",1]', ['"\\"]"', "1"]],
    ["with backslashes in strings", '["\\\\",1]', ['"\\\\"', "1"]],
    // The reader of the texts rejects them: they are not JSON.
    ["with a comma too many", "[1,]", ["1", ""]],
    ["with a comma alone", "[,]", ["", ""]],
    ["with a comma missing", "[1 2]", ["1 2"]],
  ])("%s", async (_what, text, texts) => {
    const bytes = [...Buffer.from(text)].map((byte) => Buffer.of(byte));
    for (const pieces of [[text], bytes]) expect(await textsOf(splitArray, pieces)).toEqual(texts);
  });

  test.each([
    ["nothing", ""],
    ["space", " \n"],
    ["a number", "1"],
    ["a byte order mark", "\ufeff[]"],
    ["an array that does not end", "[1"],
    ["an array that ends in a string", '["]'],
    ["an array within one that does not end", "[[]"],
    ["something behind it", "[1]2"],
    ["a bracket too many", "[]]"],
    ["another bracket at its end", "[{}}"],
  ])("is not %s", async (_what, text) => {
    expect(await codeOf(splitArray, text)).toBe(Code.InvalidArgument);
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

/** The text of these items, each in space of a kind. */
type Write = (items: readonly string[], space: string) => string;

const writeLines: Write = (items, space) =>
  items.map((item) => `${space}${item}${space}\n${space}\n`).join("");
const writeArray: Write = (items, space) =>
  `${space}[${items.map((item) => `${space}${item}${space}`).join() || space}]${space}`;

describe.each<[what: string, split: Split, write: Write]>([
  ["lines", splitLines, writeLines],
  ["an array", splitArray, writeArray],
])("%s:", (_what, split, write) => {
  test("any pieces have the same values", async () => {
    const blank = split === splitLines ? space : wideSpace;
    await fc.assert(
      fc.asyncProperty(values, blank, places, async (given, around, where) => {
        const items = given.map((value) => JSON.stringify(value));
        const pieces = cut(Buffer.from(write(items, around)), where);
        const found = await textsOf(split, pieces, 1_000_000);
        expect(found.map((text) => JSON.stringify(JSON.parse(text)))).toEqual(items);
      }),
    );
  });

  test.each<[length: number, code: Code | "accepted"]>([
    [10, "accepted"],
    [11, Code.ResourceExhausted],
  ])("a value of %s bytes with a limit of 10: %s", async (length, code) => {
    expect(await codeOf(split, write(["1", "a".repeat(length), "1"], ""), 10)).toBe(code);
    expect(await codeOf(split, write(["a".repeat(length)], "").trimEnd(), 10)).toBe(code);
  });

  test("nobody reads on: the source ends", async () => {
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
