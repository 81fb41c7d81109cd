/** The adapters of connect-node and of the gateway, side by side, the latter by both APIs of HTTP/2. */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { gatewayNodeAdapter } from "../../src/index.ts";
import type { Case } from "./side.ts";
import { type CreateHandler, type Outcome, openSide } from "./side.ts";

export interface Pair extends AsyncDisposable {
  run(given: Case): Promise<{ readonly stock: Outcome; readonly ours: readonly Outcome[] }>;
}

/** One at a time: the stock adapter reports to `console.error`. */
export async function openPair(): Promise<Pair> {
  const { error: printError } = console;
  const createStock: CreateHandler = (options, failed) => {
    console.error = failed;
    return connectNodeAdapter(options);
  };
  const createOurs: CreateHandler = (options) =>
    gatewayNodeAdapter({ ...options, onError: () => {} });
  const stock = await openSide(createStock);
  const ours = [await openSide(createOurs), await openSide(createOurs, true)];
  return {
    async run(given) {
      const sides = given.request.http === "2" ? ours : ours.slice(0, 1);
      const [first, ...others] = await Promise.all(
        [stock, ...sides].map((side) => side.run(given)),
      );
      return { stock: first as Outcome, ours: others };
    },
    async [Symbol.asyncDispose]() {
      console.error = printError;
      for (const side of [stock, ...ours]) await side[Symbol.asyncDispose]();
    },
  };
}
