import type { Readable } from "node:stream";
import { patienceMs, within } from "../../packages/gateway/test/support/within.ts";
import { type Channel, watchForTokens } from "../../packages/kit/test/support/token-leaks.ts";

/**
 * The output of a process.
 *
 * @param channel The channel of a server's output. It is checked for tokens.
 */
export function collectOutput(stream: Readable, channel?: Channel) {
  let text = "";
  const listeners = new Set<() => void>();
  const tell = () => {
    for (const listener of listeners) listener();
  };
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    text += chunk;
    if (channel !== undefined) watchForTokens(text, channel);
    tell();
  });
  stream.on("close", tell);
  return {
    get text(): string {
      return text;
    },
    /** The first match of the pattern in the whole output, within the timeout and before its end. */
    async until(pattern: RegExp, timeoutMs = patienceMs): Promise<RegExpExecArray> {
      const found = Promise.withResolvers<RegExpExecArray>();
      const look = () => {
        const match = pattern.exec(text);
        if (match !== null) found.resolve(match);
        else if (stream.closed) found.reject(new Error("the output has ended"));
      };
      listeners.add(look);
      look();
      try {
        return await within(`output that matches ${pattern}`, found.promise, timeoutMs);
      } catch (cause) {
        throw new Error(`no output matches ${pattern}, in: ${text}`, { cause });
      } finally {
        listeners.delete(look);
      }
    },
  };
}
