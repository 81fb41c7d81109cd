import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { integerFromDecimal } from "../../src/codec/json-scalar.ts";

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
});

/** whole.behind * 10^exponent, if it is an integer. */
function exactInteger(whole: string, behind: string, exponent: number): bigint | undefined {
  const digits = BigInt(`${whole}${behind}`);
  const shift = exponent - behind.length;
  if (shift >= 0) return digits * 10n ** BigInt(shift);
  const divisor = 10n ** BigInt(-shift);
  return digits % divisor === 0n ? digits / divisor : undefined;
}
