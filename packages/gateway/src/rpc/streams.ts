/** Streams of messages: sending an answer, and cancellation. */
import { Code, ConnectError } from "@connectrpc/connect";
import { connectErrorFrom, guarded } from "../errors/errors.ts";
import { atOnce, longMs, turnBy } from "../http/body.ts";
import type { BodyWriter } from "../http/exchange.ts";
import {
  type Call,
  type Cancellation,
  type Failure,
  headDelayMs,
  type Message,
  type StreamWire,
} from "./call.ts";

/** An answer in messages, to be sent as they come. */
export interface Messages {
  readonly messages: AsyncIterable<Message>;
  /** Of the answer, when it has ended. */
  readonly trailer: Headers;
}

/** Sends an answer in messages, as fast as the client takes them. */
export async function sendMessages(call: Call, answer: Messages): Promise<void> {
  const { messages, trailer } = answer;
  const { exchange } = call;
  const wire = call.wire as StreamWire;
  const iterator = messages[Symbol.asyncIterator]();
  let writer: BodyWriter | undefined;
  const begin = (first?: Message) => (writer ??= exchange.begin(wire.head(call, first)));
  const isHead = exchange.method === "HEAD";
  const sendHead = () => {
    if (exchange.isClosed) return;
    begin();
    // Its answer is over: RFC 9110 section 9.3.2.
    if (isHead) call.abort(new ConnectError("the answer to HEAD is complete", Code.Canceled));
  };
  const quiet = wire.quiet?.(call);
  // An error in a timer would end the process.
  const fail = (error: unknown) => call.fail(error);
  if (isHead || wire.needsMessage?.(call) !== true) call.sendHead = sendHead;
  const timer = setTimeout(guarded, headDelayMs, fail, () => call.holdsHead || call.sendHead?.());
  let failure: Failure | undefined;
  let full: Promise<void> | undefined;
  const tick =
    quiet &&
    setInterval(() => {
      // The head may be held.
      if (writer === undefined || exchange.isClosed || full !== undefined) return;
      full = writer.write(quiet.chunk);
      void full?.then(() => (full = undefined));
    }, quiet.everyMs);
  const writeAll = async () => {
    let begun = performance.now();
    while (!call.aborted) {
      const next = await iterator.next();
      if (call.aborted) break;
      if (next.done === true) return;
      const chunk = wire.chunk(call, next.value);
      const bytes = chunk instanceof Promise ? await chunk : chunk;
      if (call.aborted) break; // the end has been written
      const to = begin(next.value);
      if (isHead) return;
      full = to.write(bytes);
      if (full !== undefined) await full;
      full = undefined;
      // Messages that are there at once leave no turn to others, nor to the end of the connection.
      if (performance.now() - begun <= longMs) continue;
      await turnBy(atOnce);
      begun = performance.now();
    }
    throw call.reason;
  };
  try {
    await call.race(writeAll());
    if (trailer !== call.responseTrailer) call.responseTrailer.replace(trailer);
  } catch (error) {
    const ending = call.fail(error);
    if (!isHead || writer === undefined) failure = { error: ending };
  } finally {
    clearTimeout(timer);
    clearInterval(tick);
    // It may still be running. Do not wait for it.
    void iterator.return?.().catch(() => {});
  }
  if (failure !== undefined && writer === undefined) {
    exchange.respond(await wire.fail(call, failure.error));
    return;
  }
  if (!exchange.isClosed) {
    const ending = await wire.end(call, failure);
    if (ending === undefined) exchange.breakOff(connectErrorFrom(failure?.error));
    else begin().end(ending);
  }
  call.abort(undefined);
}

/**
 * Yields the items until the call is cancelled. Then throws the reason at once, even if no further
 * item comes or the source ends because of it.
 */
export async function* untilAborted<T>(
  items: AsyncIterable<T>,
  cancellation: Cancellation,
): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]();
  // A single promise would keep references to every item until it settles.
  let giveUp: ((reason: unknown) => void) | undefined;
  // It may still be running. Do not wait for it.
  const leave = () => void iterator.return?.().catch(() => {});
  const listener = {
    handleEvent() {
      giveUp?.(cancellation.reason);
      leave(); // nobody may ask for more, and the rest of a body must be discarded
    },
  };
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
      yield next.value;
    }
  } finally {
    cancellation.removeEventListener("abort", listener);
    leave();
  }
}
