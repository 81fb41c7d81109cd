import type { Principal } from "./principal.ts";
import type { ReportProblem } from "./problem.ts";
import { digestToken, looksMinted } from "./token.ts";
import { malformedLine } from "./token-file-error.ts";
import { assertSound, readTokenFile, type TokenFileContent } from "./token-file-read.ts";
import { watchTokenFile } from "./token-file-watch.ts";
import { createTokenLookup, type TokenEntry } from "./token-lookup.ts";
import { unknownToken, type Verdict, type Verifier } from "./verifier.ts";

export interface TokenVerifierOptions {
  /** The token file to watch. It need not exist yet. Default: none. */
  readonly file?: string | undefined;
  /** Tokens as plain text. Only their digests are kept. */
  readonly tokens: readonly string[];
  readonly report: ReportProblem;
}

export interface TokenVerifier {
  /** Synchronous. Takes about a microsecond, and hardly any time for a token in use. */
  readonly verify: Verifier;
  /**
   * For a token that `verify` does not know. Checks the file first, so that a new token works at
   * once. Runs one `stat` at a time, however many callers wait, and none for a token that does not
   * look like one from `token create`.
   */
  readonly verifyNew: Verifier;
  close(): void;
}

/**
 * Opens a verifier of opaque tokens.
 *
 * A token file that is changed while a server runs may become invalid. The rule: **a file with a
 * line that cannot be parsed may revoke tokens, but never adds any.** Revocations in its good lines
 * apply; a token that was not valid before stays invalid. So an editing mistake neither stops the
 * service for everybody, nor keeps a token alive that was revoked in the same edit, nor admits
 * anyone. A file that cannot be read at all changes nothing. Strangers can cause that (they can use
 * up file descriptors), so it must not lock callers out. A deleted file contains no token.
 *
 * @throws {TokenFileError} If the file is invalid at startup.
 */
export async function openTokenVerifier(options: TokenVerifierOptions): Promise<TokenVerifier> {
  const given = options.tokens.map(givenEntry);
  const { file, report } = options;
  if (file === undefined) {
    return { verify: createVerify(given), verifyNew: () => unknownToken, close: () => {} };
  }

  const content = await readTokenFile(file);
  assertSound(file, content.log);
  let entries = fileEntries(content);
  let verify = createVerify([...entries.values(), ...given]);
  const watch = watchTokenFile({ file, version: content.version, onChange, report });
  return {
    verify: (token) => verify(token),
    verifyNew: (token) =>
      looksMinted(token) ? watch.look().then(() => verify(token)) : unknownToken,
    close: watch.close,
  };

  function onChange(changed: TokenFileContent): void {
    const before = entries;
    entries = fileEntries(changed);
    const badLine = changed.log.badLines[0];
    if (badLine !== undefined) {
      for (const digest of entries.keys()) if (!before.has(digest)) entries.delete(digest);
      report(`${malformedLine(file ?? "", badLine).message}; no token is added until it is mended`);
    } else if (changed.version === "missing" && before.size > 0) {
      report(`${file}: is gone, and with it the ${before.size} tokens it held`);
    }
    verify = createVerify([...entries.values(), ...given]);
  }
}

/**
 * Remembers tokens that were found valid, because callers send the same one with each request, and
 * its SHA-256 costs more than everything else in a gate. This keeps the tokens in use in memory,
 * where the requests have them anyway, until the entries change. Looking up secrets in a Map is
 * safe: it compares characters only if the hashes, which are randomly seeded, are equal. So timing
 * does not reveal how much of a guess was right.
 */
function createVerify(entries: readonly TokenEntry[]): (token: string) => Verdict {
  const lookup = createTokenLookup(entries);
  const seen = new Map<string, Verdict>();
  return (token) => {
    const known = seen.get(token);
    if (known !== undefined) return known;
    const principal = lookup(token);
    if (principal === undefined) return unknownToken;
    const verdict: Verdict = { kind: "verified", principal };
    seen.set(token, verdict); // never more than there are entries
    return verdict;
  };
}

/** By digest, in hex. */
function fileEntries({ log }: TokenFileContent): Map<string, TokenEntry> {
  const entries = new Map<string, TokenEntry>();
  for (const { name, digest } of log.live.values()) {
    entries.set(digest, { digest: Buffer.from(digest, "hex"), principal: { kind: "token", name } });
  }
  return entries;
}

/** A name in the file cannot contain `#`, so it never equals the name of a given token. */
function givenEntry(token: string, index: number): TokenEntry {
  const principal: Principal = { kind: "token", name: `tokens#${index + 1}` };
  return { digest: digestToken(token), principal };
}
