/**
 * What an address counts as, given as Node writes it: an IPv4 address as itself,
 * over IPv6 too; an IPv6 address as its /64, because whoever has one of those has
 * all of them (RFC 6177: a site gets a /64 at least).
 */
export function addressKey(address: string): string {
  if (!address.includes(":")) return address;
  const mapped = mappedIpv4.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  const [left = "", right] = address.replace(/%.*/, "").split("::");
  const before = groupsOf(left);
  const after = groupsOf(right ?? "");
  const between = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...(right === undefined ? [] : between), ...after];
  return `${groups.slice(0, 4).join(":")}::/64`;
}

const mappedIpv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/** Dots are two groups, and always the last ones: nobody looks at what they say. */
function groupsOf(text: string): string[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => (group.includes(".") ? ["v4", "v4"] : [group]));
}
