/** One request of a stranger: the raw bytes of a connection, or a body in valid HTTP. */
import type { HttpVersion } from "../../../packages/gateway/test/support/http-exchange.ts";

export type Attack = BytesAttack | ContentAttack;

/** The bytes of a separate connection. No server may accept any of it. */
export interface BytesAttack {
  readonly what: string;
  readonly version: HttpVersion;
  readonly bytes: Buffer;
}

/**
 * A body. {@link readSound} decides whether it is valid, because a mutation may have repaired it.
 */
export interface ContentAttack {
  readonly what: string;
  readonly version: HttpVersion;
  readonly path: string;
  /** Includes a valid token, so that the code behind the gate is attacked as well. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Never valid, and too large to be checked while others are timed. */
  readonly isBomb?: boolean;
}

/** Everything that is sent: identifies an attack. */
export function textOf(attack: Attack): string {
  if ("bytes" in attack) return `HTTP/${attack.version} ${attack.bytes.toString("latin1")}`;
  const { version, path, headers, body } = attack;
  return `HTTP/${version} ${path} ${JSON.stringify(headers)} ${body.toString("latin1")}`;
}
