import { BlockList, isIP } from "node:net";

/**
 * Addresses, and blocks of them: `10.0.0.1`, `10.0.0.0/8`, `fd00::/8`.
 *
 * @throws {TypeError} for any other text.
 */
export function parseAddressBlocks(texts: readonly string[]): BlockList {
  const blocks = new BlockList();
  for (const text of texts) {
    const [, address = "", prefix] = form.exec(text) ?? [];
    const version = isIP(address);
    const bits = version === 4 ? 32 : 128;
    if (version === 0 || Number(prefix ?? 0) > bits) {
      throw new TypeError(`not an address or a block of them: ${text}`);
    }
    blocks.addSubnet(address, prefix === undefined ? bits : Number(prefix), familyOf(address));
  }
  return blocks;
}

/** Whether one of the blocks has the address, given as Node writes it. */
export function hasAddress(blocks: BlockList, address: string): boolean {
  return isIP(address) !== 0 && blocks.check(address, familyOf(address));
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIP(address) === 4 ? "ipv4" : "ipv6";
}

const form = /^([^/]*)(?:\/(\d{1,3}))?$/;
