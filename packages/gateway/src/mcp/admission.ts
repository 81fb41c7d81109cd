import type { ContextValues } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import type { Callee } from "../rpc/call.ts";
import { CallContext, noTrailer, signalOf } from "../rpc/context.ts";
import { endingError } from "../rpc/errors.ts";
import type { Tool } from "./tool.ts";

/**
 * A request on its way to a tool. The gate runs before the body is read, but older clients name the
 * tool in the body alone. They pass the gate of any tool first, and that of the tool later, if it
 * could decide otherwise.
 */
export class Admission {
  readonly exchange: Exchange;
  readonly tool: Tool;
  readonly context: CallContext;
  readonly #isNamed: boolean;
  #hasAskedForMethod = false;

  constructor(exchange: Exchange, values: ContextValues | undefined, tool: Tool, isNamed: boolean) {
    this.exchange = exchange;
    this.tool = tool;
    this.#isNamed = isNamed;
    this.context = this.#contextOf(tool, values);
    for (const name of ["method", "service"] as const) {
      const { [name]: value } = this.context;
      const get = () => {
        this.#hasAskedForMethod = true;
        return value;
      };
      Object.defineProperty(this.context, name, { get, enumerable: true });
    }
  }

  /** @throws what the gate throws. */
  async pass(): Promise<void> {
    await this.tool.endpoint.options.requestGate?.(this.context);
  }

  /** The context of a call, and what is left to do of its gate. */
  of(tool: Tool): { readonly context: CallContext; readonly options: Callee["options"] } {
    const { requestGate, ...options } = tool.endpoint.options;
    if (this.#isNamed && tool === this.tool) return { context: this.context, options };
    const context = this.#contextOf(tool, this.context.values);
    // A header may name another tool than the body.
    const isSame = requestGate === this.tool.endpoint.options.requestGate;
    const hasPassed = requestGate === undefined || (isSame && !this.#hasAskedForMethod);
    return { context, options: hasPassed ? options : { ...options, requestGate } };
  }

  /** @returns the error for the client. */
  fail(error: unknown): unknown {
    const ending = endingError(error, this.tool.endpoint.options, signalOf(this.context));
    this.context.abort(ending);
    return ending;
  }

  #contextOf({ spec, endpoint }: Tool, contextValues: ContextValues | undefined): CallContext {
    const { shutdownSignal } = endpoint.options;
    return new CallContext({
      ...{ exchange: this.exchange, method: spec.method, protocolName: "mcp" },
      ...{ timeoutMs: undefined, shutdownSignal, contextValues },
      ...{ responseHeader: {}, responseTrailer: noTrailer },
    });
  }
}
