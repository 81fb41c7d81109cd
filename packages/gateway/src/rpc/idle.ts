import { Code, ConnectError } from "@connectrpc/connect";
import type { CallSignal } from "./signal.ts";

/**
 * Ends a stream in which no message comes either way for some time.
 *
 * @returns what is to be told of each message; undefined without a limit.
 */
export function watchIdle(call: CallSignal, idleMs: number | undefined): (() => void) | undefined {
  if (idleMs === undefined) return undefined;
  let movedAt = Date.now();
  let timer: ReturnType<typeof setTimeout>;
  const look = () => {
    const leftMs = movedAt + idleMs - Date.now();
    if (leftMs > 0) timer = setTimeout(look, leftMs);
    else call.abort(new ConnectError(`no message for ${idleMs} ms`, Code.DeadlineExceeded));
  };
  timer = setTimeout(look, idleMs);
  call.addEventListener("abort", { handleEvent: () => clearTimeout(timer) });
  return () => {
    movedAt = Date.now();
  };
}
