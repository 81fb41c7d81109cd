import fc from "fast-check";

const surrogates = { first: 0xd800, count: 0x800 };

/**
 * As fast-check's own unit `binary`, which takes a second and 100 MB for a table of all characters.
 * With a way back, so that a string of them may also be `__proto__`.
 */
export const anyCharacter: fc.Arbitrary<string> = fc.nat(0x10ffff - surrogates.count).map(
  (n) => String.fromCodePoint(n < surrogates.first ? n : n + surrogates.count),
  (text) => {
    const n = typeof text === "string" ? text.codePointAt(0) : undefined;
    if (n === undefined || text !== String.fromCodePoint(n) || !text.isWellFormed())
      throw new Error("no character");
    return n < surrogates.first ? n : n - surrogates.count;
  },
);
