import type { BodyWriter } from "../http/exchange.ts";
import { onSendHead, signalOf } from "./context.ts";
import { connectErrorFrom } from "./errors.ts";
import { Waiting } from "./until-aborted.ts";
import type { Call, Failure, Message, StreamWire } from "./wire.ts";

interface Steps {
  /** All messages have been written. */
  readonly beforeEnd: () => void;
  /** The call has failed. @returns the error for the client. */
  readonly fail: (error: unknown) => unknown;
}

/**
 * Sends an answer in messages, as fast as the client takes them.
 *
 * @throws an error that comes before the head was sent; later ones end the answer.
 */
export async function streamAnswer(
  { exchange, context, wire }: Call<StreamWire>,
  messages: AsyncIterable<Message>,
  { beforeEnd, fail }: Steps,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const waiting = new Waiting(signalOf(context));
  let writer: BodyWriter | undefined;
  const begin = (first?: Message): BodyWriter => {
    writer ??= exchange.begin(wire.head(first));
    return writer;
  };
  const sendHead = () => void (exchange.isClosed || begin());
  const { headDelayMs, quiet } = wire;
  const timer = headDelayMs === undefined ? undefined : setTimeout(sendHead, headDelayMs);
  if (headDelayMs !== undefined) onSendHead(context, sendHead);
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
  try {
    for (;;) {
      const next = await waiting.for(iterator.next());
      if (next.done === true) break;
      const to = begin(next.value);
      if (exchange.method === "HEAD") break;
      const chunk = wire.chunk(next.value);
      full = to.write(chunk instanceof Promise ? await chunk : chunk);
      if (full !== undefined) await waiting.for(full);
      full = undefined;
    }
    beforeEnd();
  } catch (error) {
    if (writer === undefined) throw error;
    failure = { error: fail(error) };
  } finally {
    clearTimeout(timer);
    clearInterval(tick);
    waiting.end();
    // It may still be at work: nobody waits for it.
    void iterator.return?.().catch(() => {});
  }
  if (exchange.isClosed) return;
  const ending = await wire.end(failure);
  if (ending === undefined) exchange.breakOff(connectErrorFrom(failure?.error).code);
  else begin().end(ending);
}
