import { createPublicKey, type KeyObject } from "node:crypto";
import type { Log } from "connect-gateway/logging";
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";

export type KeySet = ReturnType<typeof openKeySet>;

interface KeySetOptions {
  readonly url: URL;
  readonly report: Log["warn"];
  readonly now?: () => number;
  /** The timeout of a whole fetch. Default: 5 s. */
  readonly timeoutMs?: number;
}

/** The age at which keys are fetched again. A removed key stays valid as long. */
const refreshMs = 10 * 60_000;

/** From one fetch to the next that a token causes: with keys at hand, and without. */
const cooldownMs = 30_000;
const retryMs = 1_000;

/** Without a limit, an attacker who blocks the endpoint could keep a stolen key valid forever. */
const outageMsMax = 24 * 60 * 60_000;

/** The keys of an issuer, fetched now and when tokens need them. During an outage, the last good ones stay. */
export function openKeySet(options: KeySetOptions) {
  const { url, report, now = () => performance.now(), timeoutMs = 5_000 } = options;
  const endpoint = `the key set ${url.origin}${url.pathname}`;
  /** Problems that were reported, so that they are not reported with every fetch. */
  const told = new Set<string>();
  // Not jose's remote set: it would refuse tokens while keys cannot be renewed, and not wait to retry.
  let current = createLocalJWKSet({ keys: [] });
  let version = 0;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let triedAt = Number.NEGATIVE_INFINITY;
  let fetching: Promise<void> | undefined;

  const hasKeys = () => now() - fetchedAt <= outageMsMax;

  void reload();
  return {
    /** Finds the key for a token's header among the present ones. Called by jose. */
    resolve: ((header, token) => current(header, token)) as JWTVerifyGetKey,
    ...{ isReady, hasNewerThan },
    /** Not by a fetch that is under way, which may bring a key that was removed since. */
    reload: () => Promise.resolve(fetching).then(reload),
    get version() {
      return version;
    },
  };

  /** Whether there are keys, after a fetch if that is due. */
  async function isReady(): Promise<boolean> {
    const triedMs = now() - triedAt;
    if (!hasKeys()) {
      if (fetching !== undefined || triedMs >= retryMs) await reload();
    } else if (triedMs >= 2 * refreshMs) {
      await reload(); // no token has come for long: a key may have been removed since
    } else if (now() - fetchedAt >= refreshMs && triedMs >= cooldownMs) {
      void reload();
    }
    return hasKeys();
  }

  /** Whether there are newer ones. Fetches at most once in 30 s, whatever strangers send. */
  async function hasNewerThan(known: number): Promise<boolean> {
    const mayFetch = fetching !== undefined || now() - triedAt >= cooldownMs;
    if (version === known && mayFetch) await reload();
    return version !== known;
  }

  /** Fetches now. Never rejects. */
  function reload(): Promise<void> {
    fetching ??= fetchOnce().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  async function fetchOnce(): Promise<void> {
    const startedAt = now();
    triedAt = startedAt;
    try {
      current = createLocalJWKSet(await fetchKeySet(url, timeoutMs, onRefused));
      fetchedAt = startedAt;
      version++;
    } catch (error) {
      const effect = hasKeys() ? "the last good keys stay in use" : "no JWT can be verified";
      report(`${endpoint} cannot be fetched: ${reasonOf(error)}; ${effect}`, error);
    }
  }

  function onRefused(problem: string): void {
    if (told.has(problem) || told.size >= keysMax) return;
    told.add(problem);
    report(`${endpoint}: ${problem}; it is not used`);
  }
}

/** About a hundred times what issuers publish. Counted after decompression. */
const bytesMax = 256 * 1024;

/** Issuers have a handful, and each takes time to parse. They might rename rejected ones each time. */
const keysMax = 100;

/** Without redirects. @throws {Error} with one line for any other answer than a key set. */
async function fetchKeySet(
  url: URL,
  timeoutMs: number,
  onRefused: (problem: string) => void,
): Promise<JSONWebKeySet> {
  const headers = { accept: "application/json, application/jwk-set+json" };
  const signal = AbortSignal.timeout(timeoutMs);
  const response = await fetch(url, { headers, signal, redirect: "manual" });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the server answered HTTP status ${response.status}, not 200`);
  }
  const members = parseMembers(await readText(response));
  if (members.length > keysMax) throw new Error(`the key set has more than ${keysMax} keys`);
  const keys = findUsableKeys(members, onRefused);
  if (keys.length === 0) throw new Error("the key set has no key that can verify a signature");
  return { keys } as JSONWebKeySet;
}

/** Leaving the loop cancels the rest of the body. */
async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  let text = "";
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw new Error(`the answer is larger than ${bytesMax} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseMembers(text: string): readonly unknown[] {
  let set: unknown;
  try {
    set = JSON.parse(text);
  } catch {
    // Not as the cause: its message quotes the text.
    throw new Error("the answer is not JSON");
  }
  if (typeof set === "object" && set !== null && "keys" in set && Array.isArray(set.keys)) {
    return set.keys;
  }
  throw new Error('the answer is not a key set: it has no array "keys"');
}

/** fetch reports the reason only in the cause of its error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown error";
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

/** RFC 7518, 3.1; RFC 8037; RFC 9864. No HS*, whose verifiers can sign, and no `none`. */
export const signatureAlgorithms: readonly string[] = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

type Member = { readonly [name in "kid" | "use" | "alg" | "key_ops"]?: unknown };

/**
 * The keys (RFC 7517, section 5) in the form that jose can be given: it fails for keys that cannot
 * be parsed and for operations beside `verify`, and takes RSA keys that anybody can sign with, which
 * are reported.
 */
export function findUsableKeys(
  members: readonly unknown[],
  onRefused: (problem: string) => void,
): unknown[] {
  return members.flatMap((member) => {
    if (!isForVerifying(member)) return [];
    const key = parsePublicKey(member);
    const problem = key && findRsaProblem(key);
    if (problem !== undefined) onRefused(`${nameOf(member)} ${problem}`);
    if (key === undefined || problem !== undefined) return [];
    return [{ ...key.export({ format: "jwk" }), kid: member.kid, alg: member.alg ?? undefined }];
  });
}

/** A published private key (`d`) is known to everybody: nothing it signed can be trusted. */
function isForVerifying(member: unknown): member is Member {
  if (typeof member !== "object" || member === null || "d" in member) return false;
  // Some issuers write null for what is absent.
  const { use, alg, key_ops }: Member = member;
  const operations = key_ops ?? ["verify"];
  if (!Array.isArray(operations) || !operations.includes("verify")) return false;
  // In bundles of SPIFFE, keys for JWTs have a use of their own.
  const isForTokens = use == null || use === "sig" || use === "jwt-svid";
  return isForTokens && (alg == null || signatureAlgorithms.includes(String(alg)));
}

function parsePublicKey(jwk: object): KeyObject | undefined {
  try {
    return createPublicKey({ key: { ...jwk }, format: "jwk" });
  } catch {
    return undefined;
  }
}

/** The minimum is from RFC 7518, section 3.3. Above the maximum, verifying takes milliseconds. */
const modulusBits = { min: 2048, max: 8192 };

/** With an exponent of 1, anybody can sign. An even one has no inverse (RFC 8017, section 3.1). */
function findRsaProblem({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  if (asymmetricKeyType !== "rsa") return undefined;
  const { modulusLength: bits = 0, publicExponent: exponent = 0n } = asymmetricKeyDetails ?? {};
  const { min, max } = modulusBits;
  if (bits < min || bits > max) return `has ${bits} bits, not ${min} to ${max}`;
  return exponent >= 3n && exponent % 2n === 1n ? undefined : `has the exponent ${exponent}`;
}

function nameOf({ kid }: Member): string {
  if (kid === undefined) return "an RSA key without kid";
  return `the RSA key ${JSON.stringify(String(kid).slice(0, 64))}`;
}
