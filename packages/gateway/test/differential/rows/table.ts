/** Tables of cases: one row, with every protocol and HTTP version that it applies to. */
import type { Case, WireRequest } from "../case.ts";
import { type CallSpec, type Codec, createRequest, type Kind, type Protocol } from "../request.ts";
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";

export interface Row {
  readonly what: string;
  readonly cases: readonly Case[];
}

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
  /** Whether it is for unary calls alone. Default: no. */
  readonly unary?: boolean;
}

export function createRow({
  what,
  call = {},
  change,
  setup,
  script,
  on,
  unary: isOfUnary = false,
}: RowSpec): Row {
  const cases = doors
    .filter((door) => (on?.(door) ?? true) && (!isOfUnary || isUnary(door)))
    .map((door): Case => {
      const spec = typeof call === "function" ? call(door) : call;
      const request = createRequest({ message: { string: "a" }, ...door, ...spec });
      return {
        what: `${what}, by ${door.protocol} ${door.codec} ${door.kind} over HTTP/${door.http}`,
        setup: setup ?? {},
        request: change === undefined ? request : change(request, door),
        script: script ?? echo,
      };
    });
  return { what, cases };
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
