import type { ContextValues } from "@connectrpc/connect";
import type { Exchange } from "../http/exchange.ts";
import { CallContext, noTrailer } from "../rpc/context.ts";
import type { Tool } from "./tool.ts";

/**
 * A request on its way to a tool. The gate runs before the body is read, but older clients name the
 * tool in the body alone. They pass the gate of any tool first, and that of the tool later, if it
 * could decide otherwise.
 */
export class Admission {
  readonly exchange: Exchange;
  /** The one that the headers name, or any. */
  readonly tool: Tool;
  /** That of the call, once its tool is known. */
  context: CallContext;
  readonly #isNamed: boolean;
  #hasAskedForMethod = false;

  constructor(exchange: Exchange, values: ContextValues | undefined, tool: Tool, isNamed: boolean) {
    this.exchange = exchange;
    this.tool = tool;
    this.context = contextOf(tool, exchange, values);
    this.#isNamed = isNamed;
  }

  /** @throws what the gate throws. */
  async pass(): Promise<void> {
    const get = (context: CallContext, name: keyof CallContext) => {
      this.#hasAskedForMethod ||= name === "method" || name === "service";
      return context[name];
    };
    const { requestGate } = this.tool.options;
    await requestGate?.(this.#isNamed ? this.context : new Proxy(this.context, { get }));
  }

  /** Whether the gate of the tool that the body names is passed. */
  admits(tool: Tool): boolean {
    if (this.#isNamed) return true;
    this.context.release();
    this.context = contextOf(tool, this.exchange, this.context.values);
    return tool.options.requestGate === this.tool.options.requestGate && !this.#hasAskedForMethod;
  }
}

function contextOf(
  { spec, options }: Tool,
  exchange: Exchange,
  contextValues: ContextValues | undefined,
): CallContext {
  return new CallContext({
    ...{ exchange, method: spec.method, protocolName: "mcp", timeoutMs: undefined },
    ...{ shutdownSignal: options.shutdownSignal, contextValues },
    ...{ responseHeader: {}, responseTrailer: noTrailer },
  });
}
