/** Addresses in settings, in messages and in URLs. */
import { isIP } from "node:net";
import { familyOf, parseAddressBlocks } from "connect-gateway/limits";

const loopback = parseAddressBlocks(["127.0.0.0/8", "::1"]);

/** Whether a host, as in a setting or in a URL, is this machine for sure: what is sent there crosses no network. */
export function isThisMachine(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, "$1");
  if (isIP(name) === 0) return /^localhost\.?$/i.test(name);
  return loopback.check(name, familyOf(name));
}

const anyAddresses: ReadonlyMap<string, string> = new Map([
  ["0.0.0.0", "127.0.0.1"],
  ["::", "::1"],
]);

export function reachable(host: string): string {
  return anyAddresses.get(host) ?? host;
}

/** The URL by which this machine reaches a listener. */
export function localUrl(scheme: "http" | "https", host: string, port: number): string {
  const name = reachable(host);
  return `${scheme}://${name.includes(":") ? `[${name}]` : name}:${port}`;
}

/** What to add to the URL of a listener, for people. */
export function describeReach(host: string): string {
  return anyAddresses.has(host) ? ` (${host}: every address of this machine)` : "";
}
