/** Without the prefix of IPv6 that Node puts before an IPv4 address on a socket for both. */
export function plainAddress<T extends string | undefined>(address: T): T | string {
  return mappedIpv4.exec(address ?? "")?.[1] ?? address;
}

/**
 * What an address (in Node's form) is counted by: an IPv4 address as it is, over IPv6 too, and an
 * IPv6 address as its /64, because its owner has all addresses in it (RFC 6177).
 */
export function addressKey(given: string): string {
  const address = plainAddress(given);
  if (!address.includes(":")) return address;
  const [left = "", right = ""] = address.split("::");
  const before = groupsOf(left);
  const after = groupsOf(right);
  const between = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return `${[...before, ...between, ...after].slice(0, 4).join(":")}::/64`;
}

/** Counts for an address or another key, and forgets those that count nothing. */
export function countFor(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** A dotted part counts as two groups. It is always last. Its content, and a zone, are not used. */
function groupsOf(text: string): string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (group.includes(".") ? [group, group] : [group]));
}
