import { timingSafeEqual } from "node:crypto";
import type { Principal } from "./principal.ts";
import { digestToken } from "./token.ts";

/** A valid token: its SHA-256 and its principal. */
export interface TokenEntry {
  readonly digest: Buffer;
  readonly principal: Principal;
}

/** Returns the principal of a token, or `undefined` if it is none of the entries. */
export type TokenLookup = (token: string) => Principal | undefined;

/**
 * Compares the digest of a token with those of the entries in constant time: each with
 * `timingSafeEqual`, without an early exit.
 *
 * The first byte of the digest selects the entries to compare, so a thousand tokens cost hardly
 * more than one. Timing can reveal how many digests share that byte. This helps no attacker: no
 * part of a SHA-256 leads back to 256 random bits.
 */
export function createTokenLookup(entries: Iterable<TokenEntry>): TokenLookup {
  const buckets = Array.from({ length: 256 }, (): TokenEntry[] => []);
  for (const entry of entries) buckets[entry.digest.readUInt8()]?.push(entry);
  return (token) => {
    const digest = digestToken(token);
    let found: Principal | undefined;
    for (const entry of buckets[digest.readUInt8()] ?? []) {
      if (timingSafeEqual(entry.digest, digest)) found = entry.principal;
    }
    return found;
  };
}
