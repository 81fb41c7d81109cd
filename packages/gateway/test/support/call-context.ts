import { validateUniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { parseTimeout } from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../../src/http/exchange.ts";
import { Call, type StreamWire, type Terms } from "../../src/rpc/call.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { createMemoryExchange } from "./memory-exchange.ts";

interface Init {
  readonly exchange?: Exchange;
  readonly wire?: Partial<StreamWire>;
  readonly timeoutMs?: number;
  readonly shutdownSignal?: AbortSignal;
}

/** A call without a network. Default: of Echo, without a deadline. */
export function createCall({ wire = {}, timeoutMs, shutdownSignal, ...init }: Init = {}): Call {
  const method = FieldService.method.echo;
  const terms = { protocol: "test", timeout: "timeout", parseTimeout } as unknown as Terms;
  const given = timeoutMs === undefined ? {} : { timeout: `${timeoutMs}` };
  const { exchange = createMemoryExchange() } = init;
  const headers = { ...exchange.headers, ...given };
  const spec = { kind: "unary", method, impl: () => ({}) } as unknown as StreamWire["spec"];
  const options = {
    ...validateUniversalHandlerOptions({}),
    ...(shutdownSignal && { shutdownSignal }),
  };
  const whole = { terms, spec, options, header: {}, trailer: {}, ...wire } as StreamWire;
  if (timeoutMs !== undefined) Object.assign(exchange, { headers });
  return new Call(whole, exchange);
}
