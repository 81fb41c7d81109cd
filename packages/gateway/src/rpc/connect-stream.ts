/** Streams of the Connect protocol: https://connectrpc.com/docs/protocol#streaming-rpcs */
import type { ConnectError, ContextValues } from "@connectrpc/connect";
import {
  contentTypeStreamJson,
  contentTypeStreamProto,
  endStreamFlag,
  endStreamToJson,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Codec } from "../codec/codec.ts";
import { connectErrorFrom } from "../errors/errors.ts";
import { concat } from "../http/body.ts";
import type { Ending, Exchange, Response } from "../http/exchange.ts";
import { Call, type Failure, type Message, noTrailer, type StreamWire } from "./call.ts";
import { versionErrorOf } from "./connect.ts";
import type { Endpoint } from "./endpoint.ts";
import { EnvelopeRoute } from "./envelope.ts";
import { needsDuplex, type Route } from "./face.ts";

const terms = {
  protocol: "connect",
  timeout: "connect-timeout-ms",
  parseTimeout,
  coding: "connect-content-encoding",
  acceptCoding: "connect-accept-encoding",
  answerCoding: "connect-content-encoding",
} as const;

export function connectStreamRoutes(endpoint: Endpoint): Iterable<readonly [string, Route]> {
  const { binary, json } = endpoint.codecs;
  return [
    [contentTypeStreamProto, new ConnectStreamRoute(endpoint, binary, contentTypeStreamProto)],
    [contentTypeStreamJson, new ConnectStreamRoute(endpoint, json, contentTypeStreamJson)],
  ];
}

class ConnectStreamRoute extends EnvelopeRoute implements StreamWire {
  readonly trailer = noTrailer;

  constructor(endpoint: Endpoint, codec: Codec, contentType: string) {
    super(endpoint, { terms, contentType, codec, endFlag: endStreamFlag, isText: false });
  }

  open(exchange: Exchange, values: ContextValues | undefined): Call | Response {
    const isChecked = this.options.requireConnectProtocolHeader;
    const refusal = isChecked ? versionErrorOf(exchange) : undefined;
    if (this.isBidi && !exchange.isDuplex) return needsDuplex();
    return new Call(this, exchange, values, { refusal });
  }

  async write(call: Call, message: Message): Promise<Response> {
    const body = concat(await this.chunk(call, message), await this.#last(call));
    return { ...this.head(call), body };
  }

  async fail(call: Call, error: unknown): Promise<Response> {
    return { ...this.head(call), ...(await this.end(call, { error })) };
  }

  chunk(call: Call, message: Message): Uint8Array | Promise<Uint8Array> {
    return this.envelope(call, this.codec.serialize(message));
  }

  async end(
    call: Call,
    failure: Failure | undefined,
  ): Promise<Ending & { readonly body: Uint8Array }> {
    const error = failure && connectErrorFrom(failure.error);
    return { body: await this.#last(call, error), error };
  }

  #last(call: Call, error?: ConnectError): Uint8Array | Promise<Uint8Array> {
    const end = endStreamToJson(call.responseTrailer, error, this.options.jsonOptions);
    return this.envelope(call, JSON.stringify(end), endStreamFlag);
  }
}
