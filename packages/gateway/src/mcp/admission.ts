import type { ContextValues } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import type { Callee } from "../rpc/call.ts";
import { CallContext, signalOf } from "../rpc/context.ts";
import type { Endpoint } from "../rpc/endpoint.ts";
import { endingError } from "../rpc/errors.ts";
import { noTrailer } from "../rpc/trailer-header.ts";
import type { Tool } from "./tool.ts";

/**
 * A request on its way to a tool. The gate runs before the body is read, but older clients name the
 * tool in the body alone. They pass the gate of any tool first, and that of the tool later, if it
 * could decide otherwise.
 */
export class Admission {
  readonly exchange: Exchange;
  readonly context: CallContext;
  readonly endpoint: Endpoint;
  readonly #named: Tool | undefined;
  #hasAskedForMethod = false;

  constructor(
    exchange: Exchange,
    values: ContextValues | undefined,
    tools: { readonly named: Tool | undefined; readonly any: Tool },
  ) {
    this.exchange = exchange;
    this.#named = tools.named;
    this.endpoint = (tools.named ?? tools.any).endpoint;
    this.context = contextOf(exchange, this.endpoint, values);
    if (tools.named !== undefined) return;
    for (const name of ["method", "service"] as const) {
      const value = this.context[name];
      const get = () => {
        this.#hasAskedForMethod = true;
        return value;
      };
      Object.defineProperty(this.context, name, { get, enumerable: true });
    }
  }

  /** @throws what the gate throws. */
  async pass(): Promise<void> {
    await this.endpoint.options.requestGate?.(this.context);
  }

  /** The context of a call, and what is left to do of its gate. */
  of({ endpoint, spec }: Tool): { readonly context: CallContext; readonly callee: Callee } {
    const { requestGate, ...options } = endpoint.options;
    const isNamed = this.#named?.endpoint === endpoint;
    const isSameGate = requestGate === this.endpoint.options.requestGate;
    const hasPassed = isNamed || (isSameGate && !this.#hasAskedForMethod);
    const gate = hasPassed || requestGate === undefined ? {} : { requestGate };
    const context = isNamed
      ? this.context
      : contextOf(this.exchange, endpoint, this.context.values);
    return { context, callee: { spec, options: { ...options, ...gate } } };
  }

  /** @returns the error for the client. */
  fail(error: unknown): unknown {
    const ending = endingError(error, this.endpoint.options, signalOf(this.context));
    this.context.abort(ending);
    return ending;
  }
}

function contextOf(
  exchange: Exchange,
  { spec, options }: Endpoint,
  contextValues: ContextValues | undefined,
): CallContext {
  return new CallContext({
    exchange,
    method: spec.method,
    protocolName: "mcp",
    timeoutMs: undefined,
    shutdownSignal: options.shutdownSignal,
    contextValues,
    responseHeader: {},
    responseTrailer: noTrailer,
  });
}
