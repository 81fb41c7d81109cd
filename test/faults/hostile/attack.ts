/** One request of a stranger: whole bytes of a connection, or a body in sound HTTP. */
import type { HttpVersion } from "../../../packages/gateway/test/support/http-exchange.ts";

export type Attack = BytesAttack | ContentAttack;

/** Bytes for a connection of their own, of which no server may accept anything. */
export interface BytesAttack {
  readonly kind: "bytes";
  readonly what: string;
  readonly version: HttpVersion;
  readonly bytes: Buffer;
}

/** A body whose soundness is decided by {@link readSound}, as a mutation may have repaired it. */
export interface ContentAttack {
  readonly kind: "content";
  readonly what: string;
  readonly version: HttpVersion;
  readonly path: string;
  /** With a token that is known: what is behind the gate is attacked as well. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Never sound, and too large to be looked at while others are timed. */
  readonly isBomb?: boolean;
}

/** What tells one attack from another. */
export function keyOf(attack: Attack): string {
  if (attack.kind === "bytes") return `${attack.version} ${attack.bytes.toString("latin1")}`;
  const { version, path, headers, body } = attack;
  return `${version} ${path} ${JSON.stringify(headers)} ${body.toString("latin1")}`;
}
