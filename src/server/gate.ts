import type { HandlerContext } from "@connectrpc/connect";

export type GateContext = Pick<HandlerContext, "requestHeader" | "responseHeader" | "values">;

/** Lets a call pass or throws, before one byte of its body is read. */
export type Gate = (context: GateContext) => void | Promise<void>;

/** One gate behind another. Synchronous while they are. */
export function inOrder(first: Gate, second: Gate): Gate {
  return (context) => {
    const passed = first(context);
    return passed instanceof Promise ? passed.then(() => second(context)) : second(context);
  };
}
