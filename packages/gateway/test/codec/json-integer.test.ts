import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { integerFromDecimal } from "../../src/codec/json-scalar.ts";

describe("the integer of", () => {
  const rows: readonly [source: string, integer: string | undefined][] = [
    ["0", "0"],
    ["-0", "0"],
    ["0.0", "0"],
    ["-0.000", "0"],
    ["0e5", "0"],
    ["0e-5", "0"],
    ["1", "1"],
    ["-1", "-1"],
    ["12.0", "12"],
    ["12.000", "12"],
    ["1.2e1", "12"],
    ["1.2E1", "12"],
    ["1.2e+1", "12"],
    ["1.2e01", "12"],
    ["-1.2e1", "-12"],
    ["120e-1", "12"],
    ["1200e-2", "12"],
    ["0.12e2", "12"],
    ["0.0012e4", "12"],
    ["0.00000000000000000000000000012e29", "12"],
    ["1e19", "10000000000000000000"],
    ["9007199254740993", "9007199254740993"],
    ["9007199254740993.0", "9007199254740993"],
    ["9.007199254740993e15", "9007199254740993"],
    ["900719925474099300e-2", "9007199254740993"],
    ["9223372036854775807", "9223372036854775807"],
    ["-9223372036854775808", "-9223372036854775808"],
    ["18446744073709551615", "18446744073709551615"],
    ["99999999999999999999", "99999999999999999999"], // 20 digits
    ["100000000000000000000", undefined], // 21
    ["1e20", undefined],
    ["1.5", undefined],
    ["0.5", undefined],
    ["-0.1", undefined],
    ["1.2e0", undefined],
    ["1.25e1", undefined],
    ["12e-1", undefined],
    ["1e-1", undefined],
    ["1.0000000000000000000000001", undefined],
    ["9007199254740993.5", undefined],
  ];

  test.each(rows)("%s is %s", (source, integer) => {
    expect(integerFromDecimal(source)).toBe(integer);
  });
});

describe("not a JSON number, so no integer:", () => {
  const rows: readonly string[] = [
    ...["", " ", " 1", "1 ", "1\n", "\n1", "+1", "--1", "- 1", "01", "-01", "00", "1.", ".5", "."],
    ...["-", "e1", "1e", "1e+", "1e1.0", "1,0", "1_0", "0x10", "0b1", "0o7", "1n", "NaN"],
    ...["Infinity", "-Infinity", "١", "１", "1e١", "null", "true"],
  ];

  test.each(rows.map((source) => [JSON.stringify(source), source] as const))("%s", (_name, s) => {
    expect(integerFromDecimal(s)).toBeUndefined();
  });
});

describe("an exponent costs nothing, however large:", () => {
  const huge = "9".repeat(300_000);
  const rows: readonly [what: string, source: string, integer: string | undefined][] = [
    ["1e1000000000", "1e1000000000", undefined],
    ["1e-1000000000", "1e-1000000000", undefined],
    ["0e1000000000", "0e1000000000", "0"],
    ["0e-1000000000", "0e-1000000000", "0"],
    ["an exponent of 300,000 digits", `1e${huge}`, undefined],
    ["a negative one", `1e-${huge}`, undefined],
    ["zero with such an exponent", `0.0e${huge}`, "0"],
    ["300,000 digits", huge, undefined],
    ["300,000 digits, nearly all behind the point", `${huge}e-299980`, undefined],
    ["300,000 zeros behind the point", `7.${"0".repeat(300_000)}`, "7"],
    ["300,000 zeros before the digit", `0.${"0".repeat(299_999)}7e300000`, "7"],
    ["300,000 zeros behind the digit", `7${"0".repeat(300_000)}e-300000`, "7"],
  ];

  test.each(rows)("%s", (_what, source, integer) => {
    const start = performance.now();
    expect(integerFromDecimal(source)).toBe(integer);
    expect(performance.now() - start).toBeLessThan(1000);
  });
});

describe("for any number", () => {
  const digits = fc.stringMatching(/^(0|[1-9][0-9]{0,24})$/);
  const fraction = fc.stringMatching(/^[0-9]{0,24}$/);
  const exponent = fc.option(fc.integer({ min: -50, max: 50 }), { nil: undefined });

  test("the result is that of exact arithmetic", () => {
    fc.assert(
      fc.property(fc.boolean(), digits, fraction, exponent, (isNegative, whole, behind, shift) => {
        const sign = isNegative ? "-" : "";
        const point = behind === "" ? "" : `.${behind}`;
        const source = `${sign}${whole}${point}${shift === undefined ? "" : `e${shift}`}`;
        const unsigned = exactInteger(whole, behind, shift ?? 0);
        const isShort = unsigned !== undefined && unsigned < 10n ** 20n;
        const expected = isShort ? String(isNegative ? -unsigned : unsigned) : undefined;
        expect(integerFromDecimal(source)).toBe(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("an integer survives any shift of its point", () => {
    const shifts = fc.integer({ min: 0, max: 30 });
    const integers = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    fc.assert(
      fc.property(integers, shifts, fc.constantFrom("e", "E"), (integer, shift, e) => {
        expect(integerFromDecimal(`${pointBefore(integer, shift)}${e}${shift}`)).toBe(
          String(integer),
        );
        expect(integerFromDecimal(`${integer * 10n ** BigInt(shift)}${e}-${shift}`)).toBe(
          String(integer),
        );
      }),
    );
  });
});

/** whole.behind * 10^exponent, if it is an integer. */
function exactInteger(whole: string, behind: string, exponent: number): bigint | undefined {
  const digits = BigInt(`${whole}${behind}`);
  const shift = exponent - behind.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

/** The integer's digits with a point before the last few: -1234, 2 -> -12.34 */
function pointBefore(integer: bigint, count: number): string {
  const digits = String(integer < 0n ? -integer : integer).padStart(count + 1, "0");
  const at = digits.length - count;
  const fraction = count === 0 ? "" : `.${digits.slice(at)}`;
  return `${integer < 0n ? "-" : ""}${digits.slice(0, at)}${fraction}`;
}
