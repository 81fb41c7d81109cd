/** Tables of cases: one row, with every protocol and HTTP version that it applies to. */
import type { Case, WireRequest } from "../case.ts";
import { type CallSpec, type Codec, createRequest, type Protocol } from "../request.ts";
import type { Script } from "../script.ts";
import type { Setup } from "../setup.ts";

export interface Row {
  readonly what: string;
  readonly cases: readonly Case[];
}

export interface Door {
  readonly protocol: Protocol;
  readonly http: "1.1" | "2";
  readonly codec: Codec;
}

export const doors: readonly Door[] = (["connect", "connect-get", "grpc", "grpc-web"] as const)
  .flatMap((protocol) => (["1.1", "2"] as const).map((http) => ({ protocol, http })))
  .flatMap((door) => (["proto", "json"] as const).map((codec) => ({ ...door, codec })));

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
}

export function createRow({ what, call = {}, change, setup, script, on }: RowSpec): Row {
  const cases = doors.filter(on ?? (() => true)).map((door): Case => {
    const spec = typeof call === "function" ? call(door) : call;
    const request = createRequest({ message: { string: "a" }, ...door, ...spec });
    return {
      what: `${what}, by ${door.protocol} ${door.codec} over HTTP/${door.http}`,
      setup: setup ?? {},
      request: change === undefined ? request : change(request, door),
      script: script ?? echo,
    };
  });
  return { what, cases };
}

export const isConnect = ({ protocol }: Door): boolean => protocol === "connect";
export const isGet = ({ protocol }: Door): boolean => protocol === "connect-get";
export const isPost = (door: Door): boolean => !isGet(door);
export const isEnveloped = ({ protocol }: Door): boolean =>
  protocol === "grpc" || protocol === "grpc-web";
export const isHttp1 = ({ http }: Door): boolean => http === "1.1";
/** For rows that do not depend on the codec. */
export const isProto = ({ codec }: Door): boolean => codec === "proto";
export const isJson = ({ codec }: Door): boolean => codec === "json";

/** The names of headers that differ between protocols. */
export function namesOf({ protocol }: Door) {
  const isOfGrpc = protocol === "grpc" || protocol === "grpc-web";
  return {
    encoding: isOfGrpc ? "grpc-encoding" : "content-encoding",
    acceptEncoding: isOfGrpc ? "grpc-accept-encoding" : "accept-encoding",
    timeout: isOfGrpc ? "grpc-timeout" : "connect-timeout-ms",
  };
}
