import type { HandlerContext } from "@connectrpc/connect";

export type GateContext = Pick<HandlerContext, "requestHeader" | "responseHeader" | "values">;

/** Accepts a call, or throws, before any of its body is read. */
export type Gate = (context: GateContext) => void | Promise<void>;

/** Runs two gates in order. Synchronous if both are. */
export function inOrder(first: Gate, second: Gate): Gate {
  return (context) => {
    const passed = first(context);
    return passed instanceof Promise ? passed.then(() => second(context)) : second(context);
  };
}
