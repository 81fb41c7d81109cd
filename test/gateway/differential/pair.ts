/** The adapter of connect-node and that of the gateway, side by side. */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { gatewayNodeAdapter } from "../../../src/gateway/index.ts";
import type { Case } from "./case.ts";
import type { Outcome } from "./outcome.ts";
import { createOptions, registerExactly, registerServices } from "./setup.ts";
import { openSide, type Side } from "./side.ts";

export interface Pair extends AsyncDisposable {
  /** Runs a case on both sides. */
  run(given: Case): Promise<{ readonly stock: Outcome; readonly ours: Outcome }>;
  readonly stock: Side;
  readonly ours: Side;
}

/** One pair at a time: what the stock adapter reports goes to `console.error`. */
export async function openPair(): Promise<Pair> {
  const { error: printError } = console;
  const stock = await openSide((setup, play, report) => {
    console.error = (_what: unknown, reason: unknown) => report(reason);
    return connectNodeAdapter(createOptions(setup, play, registerExactly));
  });
  const ours = await openSide((setup, play, report) =>
    gatewayNodeAdapter({ ...createOptions(setup, play, registerServices), onError: report }),
  );
  return {
    stock,
    ours,
    async run(given) {
      const [stockOutcome, oursOutcome] = await Promise.all([stock.run(given), ours.run(given)]);
      return { stock: stockOutcome, ours: oursOutcome };
    },
    async [Symbol.asyncDispose]() {
      console.error = printError;
      await Promise.all([stock[Symbol.asyncDispose](), ours[Symbol.asyncDispose]()]);
    },
  };
}
