import { Code } from "@connectrpc/connect";
import type { CallObserver } from "../../src/index.ts";
import { within } from "./within.ts";

/** An observer that records its notifications. */
export interface RecordedCalls extends CallObserver {
  /** One line per call, in the order of their ends: `GetLibrary rest ok`. */
  readonly ended: readonly string[];
  /** The messages of their errors. */
  readonly messages: readonly (string | undefined)[];
  /** The number of calls that have begun and not ended. */
  readonly underWay: number;
  /** Resolves when this many have ended. */
  until(count: number): Promise<void>;
}

export function recordCalls(): RecordedCalls {
  const ended: string[] = [];
  const messages: (string | undefined)[] = [];
  const waiting = new Set<() => void>();
  let begun = 0;
  const whenEnded = async (count: number) => {
    while (ended.length < count) {
      const next = Promise.withResolvers<void>();
      waiting.add(next.resolve);
      await next.promise;
    }
  };
  return {
    ended,
    messages,
    get underWay() {
      return begun - ended.length;
    },
    until: (count) => within(`the end of ${count} calls`, whenEnded(count)),
    begin({ method, protocol }) {
      begun++;
      return {
        end({ code, error }) {
          messages.push(error?.rawMessage);
          const outcome = code === undefined ? "ok" : Code[code];
          ended.push(`${method?.name ?? "none"} ${protocol} ${outcome}`);
          for (const wake of waiting) wake();
          waiting.clear();
        },
      };
    },
  };
}
