import { setTimeout } from "node:timers/promises";
import type { Log } from "connect-gateway/logging";
import {
  assertSound,
  digestToken,
  looksMinted,
  readTokenFile,
  statTokenFile,
  type TokenFileContent,
  type TokenFileError,
} from "./token-file.ts";
import { unknownToken, type Verdict, type Verifier } from "./verifier.ts";

export interface TokenVerifierOptions {
  /** The token file. It need not exist yet. Default: none. */
  readonly file?: string | undefined;
  readonly tokens: readonly string[];
  /** Of problems that fail no call, without any part of a token. */
  readonly report: Log["warn"];
  readonly now?: () => number;
}

/** After this time, the next call has the file looked at, and does not wait. */
const lookAfterMs = 250;

/** So long is a revoked token accepted, at most: calls wait for a look, also if a flood makes it slow. */
const waitAfterMs = 500;

/** A disk that hangs must not lock callers out. */
const diskMsMax = 1000;

/**
 * Opens a verifier of opaque tokens. **A file with a line that cannot be parsed may revoke tokens,
 * but never adds any.** So a mistake neither stops the service, nor keeps a revoked token alive,
 * nor admits anyone. A file that cannot be read changes nothing: strangers can cause that, by using
 * up file descriptors. A deleted file contains no token.
 *
 * The file is looked at by its path: `fs.watch` follows an inode, and misses a file that is
 * replaced, a link that is switched (Kubernetes secrets), and changes over a network.
 * @throws {TokenFileError} If the file is invalid at startup.
 */
export async function openTokenVerifier(options: TokenVerifierOptions) {
  const { file, report, now = () => performance.now() } = options;
  const given = new Map(options.tokens.map(givenEntry));
  if (file === undefined) return { verify: rememberFound(given) as Verifier, look: async () => {} };

  const content = readTokenFile(file);
  assertSound(file, content.log);
  let { version } = content;
  let live = liveEntries(content);
  let find = rememberFound(new Map([...live, ...given]));
  const lasting = new Set(given.values());
  let lookedAt = now();
  let reported: string | undefined;
  let current: Promise<void> | undefined;
  let following: Promise<void> | undefined;
  return { verify, look };

  /** Synchronous for a known token. For one that looks like a new one, looks at the file first. */
  function verify(token: string): Verdict | Promise<Verdict> {
    const verdict = find(token);
    if (lasting.has(verdict)) return verdict;
    const age = now() - lookedAt;
    if (age > waitAfterMs || (verdict === unknownToken && looksMinted(token))) {
      return look().then(() => find(token));
    }
    if (age > lookAfterMs && current === undefined) void look();
    return verdict;
  }

  /** Resolves after a look that began after the call, or after a second. Never rejects. */
  function look(): Promise<void> {
    if (current === undefined) {
      current = lookOnce(file ?? "").finally(() => {
        current = undefined;
      });
      return withinTime(current);
    }
    following ??= withinTime(
      current.then(() => {
        following = undefined;
        return look();
      }),
    );
    return following;
  }

  async function lookOnce(file: string): Promise<void> {
    const startedAt = now();
    try {
      if ((await statTokenFile(file)) !== version) take(file, readTokenFile(file));
      reported = undefined;
    } catch (error) {
      const message = error instanceof Error ? error.message : `${file}: cannot be read`;
      if (message !== reported) report(`${message}; meanwhile, earlier tokens stay valid`, error);
      reported = message;
    }
    lookedAt = startedAt;
  }

  function take(file: string, changed: TokenFileContent): void {
    const before = live;
    ({ version } = changed);
    live = liveEntries(changed);
    try {
      assertSound(file, changed.log);
      if (live.size === 0 && before.size > 0) {
        report(
          `${file}: ${version === "missing" ? "is gone" : "has no valid token left"}, so its ${before.size} tokens are rejected; restore the file or create tokens`,
        );
      }
    } catch (error) {
      for (const digest of live.keys()) if (!before.has(digest)) live.delete(digest);
      report(`${(error as TokenFileError).message}; no token is added until you fix it`);
    }
    find = rememberFound(new Map([...live, ...given]));
  }
}

function withinTime(look: Promise<void>): Promise<void> {
  return Promise.race([look, setTimeout(diskMsMax, undefined, { ref: false })]);
}

/**
 * By SHA-256, in hex. Remembers those that were found: the digest costs more than all else in a
 * gate. A Map is safe for secrets: it compares characters only if the random hashes are equal.
 */
function rememberFound(entries: ReadonlyMap<string, Verdict>): (token: string) => Verdict {
  const seen = new Map<string, Verdict>();
  return (token) => {
    const known = seen.get(token);
    if (known !== undefined) return known;
    const found = entries.get(digestToken(token).toString("hex"));
    if (found === undefined) return unknownToken;
    seen.set(token, found); // never more than there are entries
    return found;
  };
}

function liveEntries({ log }: TokenFileContent): Map<string, Verdict> {
  return new Map([...log.live.values()].map(({ name, digest }) => [digest, verified(name)]));
}

/** A name in the file cannot contain `#`, so it never equals the name of a given token. */
function givenEntry(token: string, index: number): [string, Verdict] {
  return [digestToken(token).toString("hex"), verified(`tokens#${index + 1}`)];
}

function verified(name: string): Verdict {
  return { kind: "verified", principal: { kind: "token", name } };
}
