import type { JWK } from "jose";
import { parseVerificationKeys } from "./jwk.ts";

export interface FetchKeysOptions {
  readonly url: URL;
  /** For the whole exchange, up to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Called with one line for each rejected key. */
  readonly onRefused: (problem: string) => void;
}

/** About a hundred times what issuers publish. Counted after decompression. */
const bytesMax = 256 * 1024;

/** Issuers have a handful, and each takes time to parse. */
const keysMax = 100;

/**
 * Fetches a key set (RFC 7517, section 5) and returns the keys that can verify a signature; at
 * least one. Follows no redirect: only the setting may decide where keys come from.
 *
 * @throws {Error} For any other answer, or none. Its message is one line.
 */
export async function fetchVerificationKeys(options: FetchKeysOptions): Promise<JWK[]> {
  const response = await fetch(options.url, {
    redirect: "manual",
    headers: { Accept: "application/jwk-set+json, application/json" },
    signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`the server answered HTTP status ${response.status}, not 200`);
  }
  const members = parseMembers(await readText(response));
  if (members.length > keysMax) throw new Error(`the key set has more than ${keysMax} keys`);
  const keys = parseVerificationKeys(members, options.onRefused);
  if (keys.length === 0) throw new Error("the key set has no key that can verify a signature");
  return keys;
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
