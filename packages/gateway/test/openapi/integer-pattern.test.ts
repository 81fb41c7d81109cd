import fc from "fast-check";
import { expect, test } from "vitest";
import { integerPattern } from "../../src/openapi/schema/integer-pattern.ts";

const matcherOf = (min: bigint, max: bigint) => new RegExp(`^${integerPattern(min, max)}$`);

const int64 = { min: -(2n ** 63n), max: 2n ** 63n - 1n };

test.each([
  [int64, ["0", "-1", "9223372036854775807", "-9223372036854775808", "999999999999999999"], true],
  [int64, ["9223372036854775808", "-9223372036854775809", "10000000000000000000"], false],
  [int64, ["", "-", "-0", "00", "01", "+1", "1.0", " 1", "1 ", "0x1", "1e1", "１"], false],
  [{ min: 0n, max: 2n ** 64n - 1n }, ["0", "18446744073709551615"], true],
  [{ min: 0n, max: 2n ** 64n - 1n }, ["18446744073709551616", "-1"], false],
  [{ min: 5n, max: 5n }, ["5"], true],
  [{ min: -12n, max: -7n }, ["-12", "-7"], true],
  [{ min: -12n, max: -7n }, ["-13", "-6", "7", "0"], false],
])("%o: %j: %s", ({ min, max }, texts, expected) => {
  const matcher = matcherOf(min, max);
  for (const text of texts) expect([text, matcher.test(text)]).toEqual([text, expected]);
});

test("matches the integers of a range and no others", () => {
  const bound = fc.oneof(fc.bigInt({ min: -3000n, max: 3000n }), fc.bigInt(int64));
  const property = fc.property(bound, bound, bound, (one, other, value) => {
    const [min, max] = one < other ? [one, other] : [other, one];
    const matcher = matcherOf(min, max);
    for (const near of [value, min - 1n, min, min + 1n, max - 1n, max, max + 1n]) {
      expect([near, matcher.test(String(near))]).toEqual([near, near >= min && near <= max]);
    }
  });
  fc.assert(property, { numRuns: 500 });
});
