/** Regular expressions that match exactly the decimal digits of the integers in a range. */

/** No anchors, leading zeros, `-0` or `+`; the same in JavaScript, Python, Go and Java. */
export function integerPattern(min: bigint, max: bigint): string {
  if (min >= 0n) return group(naturalPatterns(min, max));
  if (max < 0n) return `-${group(naturalPatterns(-max, -min))}`;
  // The part that both signs share appears only once.
  const common = -min < max ? -min : max;
  const signed = naturalPatterns(1n, common);
  return group([
    "0",
    ...(signed.length > 0 ? [`-?${group(signed)}`] : []),
    ...naturalPatterns(common + 1n, -min).map((pattern) => `-${pattern}`),
    ...naturalPatterns(common + 1n, max),
  ]);
}

function naturalPatterns(min: bigint, max: bigint): string[] {
  if (min > max) return [];
  if (min === 0n) return ["0", ...naturalPatterns(1n, max)];
  const digits = String(min).length;
  const end = 10n ** BigInt(digits); // the first number with more digits
  const isStart = min === end / 10n;
  if (max < end - 1n) return [sameLength(String(min), String(max))];
  if (!isStart) return [sameLength(String(min), String(end - 1n)), ...naturalPatterns(end, max)];
  // All numbers of the same length share one expression.
  const lengths = String(max + 1n).length - 1;
  const [least, most] = [digits - 1, lengths - 1];
  const counted = most === 0 ? "" : `[0-9]{${least === most ? least : `${least},${most}`}}`;
  return [`[1-9]${counted}`, ...naturalPatterns(10n ** BigInt(lengths), max)];
}

/** All numbers from `low` to `high`, which have the same number of digits. */
function sameLength(low: string, high: string): string {
  if (low === high) return low;
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (first === last) return first + sameLength(lowRest, highRest);
  const zeros = "0".repeat(lowRest.length);
  const nines = "9".repeat(lowRest.length);
  const from = lowRest === zeros ? first : first + 1;
  const to = highRest === nines ? last : last - 1;
  return group([
    ...(from > first ? [first + sameLength(lowRest, nines)] : []),
    ...(from <= to ? [digit(from, to) + anyDigits(lowRest.length)] : []),
    ...(to < last ? [last + sameLength(zeros, highRest)] : []),
  ]);
}

function digit(from: number, to: number): string {
  return from === to ? String(from) : `[${from}-${to}]`;
}

function anyDigits(count: number): string {
  if (count === 0) return "";
  return count === 1 ? "[0-9]" : `[0-9]{${count}}`;
}

function group(parts: readonly string[]): string {
  const [only = ""] = parts;
  return parts.length === 1 ? only : `(?:${parts.join("|")})`;
}
