/**
 * The exact value of a decimal number, if it is an integer of at most 20 digits (as every 64-bit
 * integer is).
 *
 * @param source A number in JSON syntax (RFC 8259 section 6), for example `12`, `12.0` or `1.2e1`.
 * @returns The integer in plain decimal digits, or undefined for a fraction, a longer number, or
 * another syntax.
 */
export function integerFromDecimal(source: string): string | undefined {
  const match = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source);
  if (match === null) return undefined;
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  // The value is digits * 10^shift. Nothing is allocated for a large exponent.
  const shift = Number(exponent) - fraction.length;
  if (digits.length + shift > 20) return undefined;
  if (shift >= 0) return `${sign}${digits}${"0".repeat(shift)}`;
  if (-shift >= digits.length || /[^0]/.test(digits.slice(shift))) return undefined;
  return `${sign}${digits.slice(0, shift)}`;
}
