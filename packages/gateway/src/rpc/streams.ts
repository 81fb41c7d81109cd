/** Streams of messages: sending an answer, cancellation and idle limits. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { BodyWriter } from "../http/exchange.ts";
import { type CallSignal, type Cancellation, signalOf } from "./context.ts";
import { connectErrorFrom } from "./errors.ts";
import type { Call, Failure, Message, StreamWire } from "./protocol.ts";

interface Steps {
  /** Called for each message. */
  readonly moved?: (() => void) | undefined;
  /** Called after the last message. */
  readonly beforeEnd: () => void;
  /** Called if the call fails. @returns the error for the client. */
  readonly fail: (error: unknown) => unknown;
}

/**
 * Sends an answer in messages, as fast as the client takes them.
 *
 * @throws an error that occurs before the head is sent. Later errors end the answer.
 */
export async function streamAnswer(
  { exchange, context, wire }: Call<StreamWire>,
  messages: AsyncIterable<Message>,
  { moved, beforeEnd, fail }: Steps,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const signal = signalOf(context);
  let writer: BodyWriter | undefined;
  const begin = (first?: Message): BodyWriter => {
    writer ??= exchange.begin(wire.head(first));
    return writer;
  };
  const sendHead = () => void (exchange.isClosed || begin());
  const { headDelayMs, quiet } = wire;
  const timer = headDelayMs === undefined ? undefined : setTimeout(sendHead, headDelayMs);
  if (headDelayMs !== undefined) signal.sendHead = sendHead;
  let failure: Failure | undefined;
  let full: Promise<void> | undefined;
  const tick =
    quiet &&
    setInterval(() => {
      if (exchange.isClosed || full !== undefined) return;
      full = begin().write(quiet.chunk);
      void full?.then(() => {
        full = undefined;
      });
    }, quiet.everyMs);
  const writeAll = async () => {
    while (!signal.aborted) {
      const next = await iterator.next();
      if (signal.aborted) break;
      if (next.done === true) return;
      moved?.();
      const to = begin(next.value);
      if (exchange.method === "HEAD") return;
      const chunk = wire.chunk(next.value);
      const bytes = chunk instanceof Promise ? await chunk : chunk;
      if (signal.aborted) break; // the end has been written
      full = to.write(bytes);
      if (full !== undefined) await full;
      full = undefined;
    }
    throw signal.reason;
  };
  try {
    await signal.race(writeAll());
    beforeEnd();
  } catch (error) {
    if (writer === undefined) throw error;
    failure = { error: fail(error) };
  } finally {
    clearTimeout(timer);
    clearInterval(tick);
    // It may still be running. Do not wait for it.
    void iterator.return?.().catch(() => {});
  }
  if (exchange.isClosed) return;
  const ending = await wire.end(failure);
  if (ending === undefined) exchange.breakOff(connectErrorFrom(failure?.error));
  else begin().end(ending);
}

/**
 * Yields the items until the call is cancelled. Then throws the reason at once, even if no further
 * item comes or the source ends because of it.
 *
 * @param moved Called for each item.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  cancellation: Cancellation,
  moved?: () => void,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  // A single promise would keep references to every item until it settles.
  let giveUp: ((reason: unknown) => void) | undefined;
  const listener = { handleEvent: () => giveUp?.(cancellation.reason) };
  cancellation.addEventListener("abort", listener);
  try {
    for (;;) {
      const next = await new Promise<IteratorResult<T>>((resolve, reject) => {
        giveUp = reject;
        iterator.next().then(resolve, reject);
        if (cancellation.aborted) reject(cancellation.reason);
      });
      if (cancellation.aborted) throw cancellation.reason;
      if (next.done === true) return;
      moved?.();
      yield next.value;
    }
  } finally {
    cancellation.removeEventListener("abort", listener);
    // It may still be running. Do not wait for it.
    void iterator.return?.().catch(() => {});
  }
}

/**
 * Ends a stream after some time without a message in either direction.
 *
 * @returns a function to call for each message; undefined without a limit.
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
