/**
 * The adapters of connect-node and of the gateway, side by side. The latter uses both HTTP/2 APIs.
 */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { gatewayNodeAdapter } from "../../src/index.ts";
import type { Case } from "./case.ts";
import type { Outcome } from "./outcome.ts";
import { createOptions, registerExactly, registerServices } from "./setup.ts";
import { type CreateHandler, openSide, type Side } from "./side.ts";

export interface Outcomes {
  readonly stock: Outcome;
  readonly ours: Outcome;
  /** Our outcome with the core API, if the request uses HTTP/2. */
  readonly core: Outcome | undefined;
}

export interface Pair extends AsyncDisposable {
  /** Runs a case on both sides. If `like` is given, the stock adapter runs that instead. */
  run(given: Case, like?: Case): Promise<Outcomes>;
  readonly stock: Side;
  /** With the core API. */
  readonly core: Side;
}

/** One pair at a time: the stock adapter reports to `console.error`. */
export async function openPair(): Promise<Pair> {
  const { error: printError } = console;
  const stock = await openSide((setup, play, { failed }) => {
    console.error = (_what: unknown, reason: unknown) => failed(reason);
    return connectNodeAdapter(createOptions(setup, play, registerExactly));
  });
  const createOurs: CreateHandler = (setup, play, { noted }) =>
    gatewayNodeAdapter({ ...createOptions(setup, play, registerServices), onError: noted });
  const ours = await openSide(createOurs);
  const core = await openSide(createOurs, true);
  return {
    stock,
    core,
    async run(given, like = given) {
      const isHttp2 = given.request.http === "2";
      const running = [stock.run(like), ours.run(given)] as const;
      const [stockOutcome, oursOutcome, coreOutcome] = await Promise.all([
        ...running,
        isHttp2 ? core.run(given) : undefined,
      ]);
      return { stock: stockOutcome, ours: oursOutcome, core: coreOutcome };
    },
    async [Symbol.asyncDispose]() {
      console.error = printError;
      await Promise.all([stock, ours, core].map((side) => side[Symbol.asyncDispose]()));
    },
  };
}
