/** The adapter of connect-node and that of the gateway, side by side; the latter by both APIs of HTTP/2. */
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { gatewayNodeAdapter } from "../../src/index.ts";
import type { Case } from "./case.ts";
import type { Outcome } from "./outcome.ts";
import { createOptions, registerExactly, registerServices } from "./setup.ts";
import { type CreateHandler, openSide, type Side } from "./side.ts";

export interface Outcomes {
  readonly stock: Outcome;
  readonly ours: Outcome;
  /** Of ours by the core API, where the request comes over HTTP/2. */
  readonly core: Outcome | undefined;
}

export interface Pair extends AsyncDisposable {
  /** Runs a case on both sides; on the stock one, if it is given, another that ours is like. */
  run(given: Case, like?: Case): Promise<Outcomes>;
  readonly stock: Side;
  /** By the core API. */
  readonly core: Side;
}

/** One pair at a time: what the stock adapter reports goes to `console.error`. */
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
