/** The known name that a misspelt one was meant to be, if one is near. In kebab-case. */
export function suggestName(misspelt: string, known: readonly string[]): string | undefined {
  const wanted = misspelt.slice(0, lengthMax);
  const near = known
    .map((name) => ({ name, distance: distanceOf(wanted, name) }))
    .filter(
      ({ name, distance }) => distance <= Math.max(1, Math.min(3, Math.floor(name.length / 3))),
    )
    .sort((one, other) => one.distance - other.distance);
  return near[0]?.name;
}

/** Longer than any name; bounds the work. */
const lengthMax = 64;

/** Words in another order are as near as in the right one: `body-max-bytes`. */
function distanceOf(one: string, other: string): number {
  const sorted = (name: string) => name.split("-").sort().join("-");
  return Math.min(editDistance(one, other), editDistance(sorted(one), sorted(other)));
}

/** How many letters to insert, delete, replace or swap with their neighbour. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [];
  for (let i = 0; i <= one.length; i++) {
    const row: number[] = [];
    rows.push(row);
    for (let j = 0; j <= other.length; j++) {
      const at = (up: number, left: number) => rows[i - up]?.[j - left] ?? Number.POSITIVE_INFINITY;
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      const ways = [at(0, 1) + 1, at(1, 0) + 1, at(1, 1) + Number(!isSame)];
      if (isSwapped) ways.push(at(2, 2) + 1);
      row.push(i + j === 0 ? 0 : Math.min(...ways));
    }
  }
  return rows[one.length]?.[other.length] ?? 0;
}
