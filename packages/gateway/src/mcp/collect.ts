/** Streams as one result: models read no stream, and have room for so much. */
import type { HandlerContext } from "@connectrpc/connect";
import { cancellationOf } from "../rpc/context.ts";

export interface StreamLimits {
  /** A message that comes when the result has that many bytes is left out, and ends the stream. */
  readonly bytesMax: number;
  /** How long the stream is read, in ms. */
  readonly timeMs: number;
}

/** How much of a stream has been collected. */
export interface Collected {
  bytes: number;
  /** Whether the stream went on. */
  isCut: boolean;
}

/** Passes messages on until a limit is reached, and ends the stream of the method then. */
export async function* untilFull<T>(
  messages: AsyncIterable<T>,
  collected: Collected,
  { bytesMax, timeMs }: StreamLimits,
  context: HandlerContext,
): AsyncGenerator<T> {
  const iterator = messages[Symbol.asyncIterator]();
  const over = Promise.withResolvers<undefined>();
  const end = { handleEvent: () => over.resolve(undefined) };
  const timer = setTimeout(end.handleEvent, timeMs);
  const cancellation = cancellationOf(context);
  cancellation.addEventListener("abort", end);
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), over.promise]);
      if (next?.done === true) return;
      collected.isCut = next === undefined || collected.bytes >= bytesMax;
      if (next === undefined || collected.isCut) return;
      yield next.value;
    }
  } finally {
    clearTimeout(timer);
    cancellation.removeEventListener("abort", end);
    // It may still be at work: nobody waits for it.
    void iterator.return?.().catch(() => {});
  }
}
