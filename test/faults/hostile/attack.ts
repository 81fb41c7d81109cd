/** One request of a stranger: the raw bytes of a connection, or a body in valid HTTP. */
import type { HttpVersion } from "../../../packages/gateway/test/support/exchange.ts";
import type { RawRequest } from "../../support/protocol/raw.ts";

export type Attack = BytesAttack | ContentAttack;

/** The bytes of a separate connection. No server may accept any of it. */
export interface BytesAttack {
  readonly what: string;
  readonly version: HttpVersion;
  readonly bytes: Buffer;
}

/**
 * A body. {@link readSound} decides whether it is valid, because a mutation may have repaired it.
 * Most have a valid token, so that the code behind the gate is attacked as well.
 */
export interface ContentAttack extends RawRequest {
  readonly what: string;
  /** Never valid, and too large to be checked while others are timed. */
  readonly isBomb?: boolean;
}

/** Everything that is sent: identifies an attack. */
export function textOf(attack: Attack): string {
  if ("bytes" in attack) return `HTTP/${attack.version} ${attack.bytes.toString("latin1")}`;
  const { version, path, headers, body } = attack;
  return `HTTP/${version} ${path} ${JSON.stringify(headers)} ${body.toString("latin1")}`;
}
