import { Code, ConnectError } from "@connectrpc/connect";

/** Counts a stream until its signal aborts. @throws {ConnectError} if there are as many as may be. */
export type EnterStream = (signal: AbortSignal) => void;

/** Bounds how many streams are open at the same time that need no token. */
export function createStreamLimit(max: number, tooMany: string): EnterStream {
  let open = 0;
  return (signal) => {
    if (open >= max) throw new ConnectError(tooMany, Code.ResourceExhausted);
    open++;
    // Surer than the end of a generator: nobody may ask for it any more.
    signal.addEventListener("abort", () => open--, { once: true });
  };
}
