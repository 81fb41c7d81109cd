import fc from "fast-check";

/**
 * As fast-check's unit `binary`, which takes a second and 100 MB for a table of all characters. With
 * the way back, by which a string of them may also be `__proto__`.
 */
export const anyCharacter = fc.nat(0x10f7ff).map(
  (n) => String.fromCodePoint(n < 0xd800 ? n : n + 0x800),
  (text) => {
    const n = typeof text === "string" && text.isWellFormed() ? (text.codePointAt(0) ?? -1) : -1;
    if (n < 0 || String.fromCodePoint(n) !== text) throw new Error("no character");
    return n < 0xd800 ? n : n - 0x800;
  },
);
