import { type Code, ConnectError } from "@connectrpc/connect";
import { within } from "./within.ts";

/** The statuses of a Watch, on request, and the reason of its end. */
export function readWatch(answers: AsyncIterable<{ status: number }>) {
  const iterator = answers[Symbol.asyncIterator]();
  return {
    async next(): Promise<number | undefined> {
      const next = await within("a status", iterator.next());
      return next.done === true ? undefined : next.value.status;
    },
    end: () => within("the end of the watch", endOf(iterator)),
  };
}

async function endOf(iterator: AsyncIterator<unknown>): Promise<Code | "ok"> {
  try {
    while ((await iterator.next()).done !== true);
    return "ok";
  } catch (error) {
    return ConnectError.from(error).code;
  }
}
