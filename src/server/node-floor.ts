/**
 * The first release of each Node line with the security fixes of July 2026. They are the latest
 * that affect HTTP/2 servers: CVE-2026-56848 (all lines) and CVE-2026-56846 (22 and 24), both high.
 *
 * package.json allows no other line below 27.
 *
 * Sources: https://nodejs.org/en/blog/vulnerability/july-2026-security-releases;
 * 184.json and 186.json in vuln/core of https://github.com/nodejs/security-wg;
 * https://github.com/nodejs/release#release-schedule.
 */
const floors: Readonly<Record<string, string>> = {
  22: "22.23.2",
  24: "24.18.1",
  26: "26.5.1",
};

/** @returns a warning for the operator; undefined if this Node is recent enough. */
export function describeOldNode(version: string): string | undefined {
  const [line = ""] = version.split(".");
  const floor = floors[line];
  if (floor === undefined) return undefined;
  if (!isBelow(version, floor)) return undefined;
  return `Node ${version} has vulnerabilities that are known: use ${floor} or a later one`;
}

/** For versions of one line. Ignores a suffix after a hyphen, such as a nightly's. */
function isBelow(version: string, floor: string): boolean {
  const [, minor = 0, patch = 0] = numbersOf(version);
  const [, floorMinor = 0, floorPatch = 0] = numbersOf(floor);
  return minor < floorMinor || (minor === floorMinor && patch < floorPatch);
}

function numbersOf(version: string): number[] {
  return version.split(".", 3).map((part) => Number.parseInt(part, 10));
}
