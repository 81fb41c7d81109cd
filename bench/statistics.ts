export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const above = sorted[Math.floor(middle)];
  const below = sorted[Math.ceil(middle) - 1];
  if (above === undefined || below === undefined) throw new RangeError("no values");
  return (above + below) / 2;
}

/** The median of the known values; undefined if there is none. */
export function medianOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known);
}

/** The nearest rank: the smallest value that at least this share of all values does not exceed. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError("no values");
  return value;
}

/** The slope of the least-squares line through these points. */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let above = 0;
  let below = 0;
  for (const [x, y] of points) {
    above += (x - meanX) * (y - meanY);
    below += (x - meanX) ** 2;
  }
  if (below === 0) throw new RangeError("a line needs two points");
  return above / below;
}
