/** What a protocol is: how it matches a request, opens its call, and writes its answer. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import { RestFailure } from "../errors/http.ts";
import { smallResponse } from "../http/body.ts";
import type { Exchange, Head, Response } from "../http/exchange.ts";
import { type NodeHeaders, withoutLength } from "../http/headers.ts";
import type { Awaitable, Call, ProtocolName, Terms } from "./call.ts";
import type { Endpoint } from "./endpoint.ts";

/** One protocol. Its calls have a wire, which reads requests and writes answers. */
export interface Face {
  /** What it serves at exact paths. */
  readonly entries: Iterable<Entry>;
  /** Finds what it serves at other paths, without the prefix. */
  match?(method: string, path: string): Route | undefined;
}

export interface Entry {
  readonly path: string;
  readonly method: string;
  /** In lower case; `*` for any. */
  readonly mediaType: string;
  readonly route: Route;
}

/** What serves a request. */
export interface Route {
  /** Undefined where the media type of the request says it. */
  readonly protocol: ProtocolName | undefined;
  /** Undefined if nothing is called, and for a route of several. */
  readonly method: DescMethod | undefined;
  /** The path after the prefix, with variables in braces; undefined if none was found. */
  readonly pathTemplate: string | undefined;
  /** Whether it serves nothing: there is no call. */
  readonly isRefusal?: true;
  /** The HTTP methods that the path has. */
  allow(path: string): readonly string[];
  /** The method that a request calls, for a route of several. Known at the latest when it ends. */
  methodOf?(exchange: Exchange): DescMethod | undefined;
  /** Opens the call of a request, or answers it. @throws an error, to be rendered as in REST. */
  open(exchange: Exchange, values: ContextValues | undefined): Awaitable<Call | Response>;
}

/** A method by one of the protocols of connect-es, for one media type. */
export abstract class RpcRoute<P = unknown> implements Route {
  readonly protocol: ProtocolName;
  readonly method: DescMethod;
  readonly pathTemplate: string;
  readonly terms: Terms;
  readonly header: NodeHeaders;
  readonly takesBytes: boolean;
  readonly spec: Endpoint["spec"];
  readonly options: Endpoint["options"];
  /** Whether both sides send at the same time. */
  readonly isBidi: boolean;
  readonly allow: () => readonly string[];

  constructor({ spec, options, rpc, passesOn }: Endpoint, terms: Terms, contentType: string) {
    this.protocol = terms.protocol;
    this.method = spec.method;
    this.pathTemplate = rpc.requestPath;
    this.terms = terms;
    this.header = { "content-type": contentType };
    this.takesBytes = passesOn && !contentType.endsWith("json");
    this.spec = spec;
    this.options = options;
    this.isBidi = spec.kind === "bidi_streaming";
    this.allow = () => rpc.allowedMethods;
  }

  head({ responseHeader }: Call<P>): Head {
    return { status: 200, header: withoutLength(responseHeader.toNode()) };
  }

  abstract open(exchange: Exchange, values: ContextValues | undefined): Call<P> | Response;
}

/** Clients that expect full duplex may hang on HTTP/1.1. Closing the connection ends that. */
export function needsDuplex(): Response {
  const error = new ConnectError("a bidirectional stream needs HTTP/2", Code.Unimplemented);
  return smallResponse(505, "", { connection: "close" }, error);
}

/** Without a body, because the protocol of the client is unknown. */
export function unsupportedMediaType(): Response {
  const message = "the Content-Type is not supported";
  return smallResponse(415, "", {}, new ConnectError(message, Code.InvalidArgument)); // as for REST
}

/** Refuses the HTTP methods that a path does not have. @param like A route of the path. */
export function methodNotAllowed(like: Route): Route {
  const isRpc = like instanceof RpcRoute;
  return {
    protocol: isRpc || like.protocol === "rest" ? undefined : like.protocol,
    method: undefined,
    pathTemplate: like.protocol === "rest" ? undefined : like.pathTemplate,
    isRefusal: true,
    allow: (path) => like.allow(path),
    open({ path }) {
      const allow = like.allow(path);
      const header = {
        allow: allow.join(", "), // RFC 9110 section 15.5.6
        ...(allow.includes("QUERY") && { "accept-query": "application/json" }), // RFC 10008 section 3
      };
      const message = `the method must be ${header.allow}`;
      const error = new RestFailure(405, Code.Unimplemented, message, header);
      if (isRpc) return smallResponse(405, "", header, error);
      throw error;
    },
  };
}
