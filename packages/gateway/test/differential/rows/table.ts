/** Tables of cases: one row, with every protocol and HTTP version that it applies to. */
import type { Case, WireRequest } from "../case.ts";
import { type CallSpec, type Codec, createRequest, type Kind, type Protocol } from "../request.ts";
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";

export interface Row {
  readonly what: string;
  readonly cases: readonly Case[];
  /** Cases of streams, on which connect-node deliberately has not the same outcome. */
  readonly unlike: { readonly why: Unlike; readonly cases: readonly Case[] } | undefined;
}

/** Why streams are not as connect-node has them. docs/differences.md says it to users. */
export const unlike = {
  refusal: "connect-node calls the implementation, and refuses the request when that reads it",
  deadline: "connect-node answers after the deadline, if the implementation does",
  shutdown: "connect-node answers after a shutdown, if the implementation does",
  unserializable: "connect-node aborts the signal with an AbortError, and not with the error",
  ownHeaders: "connect-node loses the Content-Type that an interceptor's own response has not",
  text: "connect-node does not know gRPC-Web text",
  prefix: "connect-node ignores an envelope prefix without a message, at the end",
  flags: "connect-node ignores flags of an envelope that its protocol does not know",
  length: "connect-node sends a Content-Length of the application, which breaks the response",
  details: "connect-node writes another message for details that are no messages",
  reading: "connect-node reads on: a message, or its end, comes after what ends the call",
} as const;

export type Unlike = (typeof unlike)[keyof typeof unlike];

export interface Door {
  readonly protocol: Protocol;
  readonly kind: Kind;
  readonly http: "1.1" | "2";
  readonly codec: Codec;
}

const unary = (["connect", "connect-get", "grpc", "grpc-web"] as const).flatMap((protocol) =>
  (["1.1", "2"] as const).map((http) => ({ protocol, kind: "unary", http }) as const),
);
const kinds = ["server_streaming", "client_streaming", "bidi_streaming"] as const;
/** Fewer, as they share most with unary calls. Only HTTP/2 has streams in both directions. */
const streams = (["connect", "grpc", "grpc-web"] as const).flatMap((protocol) => [
  ...kinds.map((kind) => ({ protocol, kind, http: "2", codec: "proto" }) as const),
  { protocol, kind: "server_streaming", http: "2", codec: "json" } as const,
  ...(protocol === "grpc" ? [] : kinds.slice(0, 2)).map(
    (kind) => ({ protocol, kind, http: "1.1", codec: "proto" }) as const,
  ),
]);

export const doors: readonly Door[] = [
  ...unary.flatMap((door) => (["proto", "json"] as const).map((codec) => ({ ...door, codec }))),
  ...streams,
];

export const echo: Script = { implementation: { ends: { do: "echo" } } };

export interface RowSpec {
  readonly what: string;
  /** Changes to a valid request. A function may depend on the door. */
  readonly call?: Partial<CallSpec> | ((door: Door) => Partial<CallSpec>);
  readonly change?: (request: WireRequest, door: Door) => WireRequest;
  readonly setup?: Setup;
  readonly script?: Script;
  /** Default: every door. */
  readonly on?: (door: Door) => boolean;
  /** Why the outcome of streams is not the same. Default: it is. */
  readonly unlike?: Unlike | undefined;
}

export function createRow({
  what,
  call = {},
  change,
  setup,
  script,
  on,
  unlike: why,
}: RowSpec): Row {
  const caseOf = (door: Door): Case => {
    const spec = typeof call === "function" ? call(door) : call;
    const request = createRequest({ message: { string: "a" }, ...door, ...spec });
    return {
      what: `${what}, by ${door.protocol} ${door.codec} ${door.kind} over HTTP/${door.http}`,
      setup: setup ?? {},
      request: change === undefined ? request : change(request, door),
      script: script ?? echo,
    };
  };
  const all = doors.filter((door) => on?.(door) ?? true);
  if (why === undefined) return { what, cases: all.map(caseOf), unlike: undefined };
  const streams = all.filter((door) => !isUnary(door));
  return {
    ...{ what, cases: all.filter(isUnary).map(caseOf) },
    unlike: { why, cases: streams.map(caseOf) },
  };
}

/** Whether the method has one message each way. */
export const isUnary = ({ kind }: Door): boolean => kind === "unary";
/** Of unary calls, whose body is the message. */
export const isConnect = ({ protocol, kind }: Door): boolean =>
  protocol === "connect" && kind === "unary";
export const isGet = ({ protocol }: Door): boolean => protocol === "connect-get";
export const isPost = (door: Door): boolean => !isGet(door);
export const isGrpc = ({ protocol }: Door): boolean =>
  protocol === "grpc" || protocol === "grpc-web";
export const isEnveloped = (door: Door): boolean =>
  isGrpc(door) || (door.protocol === "connect" && door.kind !== "unary");
export const isHttp1 = ({ http }: Door): boolean => http === "1.1";
/** For rows that do not depend on the codec. */
export const isProto = ({ codec }: Door): boolean => codec === "proto";
export const isJson = ({ codec }: Door): boolean => codec === "json";

/** The names of headers that differ between protocols. */
export function namesOf(door: Door) {
  if (isGrpc(door)) {
    return {
      encoding: "grpc-encoding",
      acceptEncoding: "grpc-accept-encoding",
      timeout: "grpc-timeout",
    };
  }
  const prefix = isUnary(door) ? "" : "connect-";
  return {
    encoding: `${prefix}content-encoding`,
    acceptEncoding: `${prefix}accept-encoding`,
    timeout: "connect-timeout-ms",
  };
}

/** The value of a deadline in the protocol's form. */
export function timeoutOf(door: Door, timeoutMs: number): string {
  if (!isGrpc(door)) return `${timeoutMs}`;
  return timeoutMs >= 1000 ? `${timeoutMs / 1000}S` : `${timeoutMs}m`;
}
