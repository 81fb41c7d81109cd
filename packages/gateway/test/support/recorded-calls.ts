import { Code } from "@connectrpc/connect";
import { vi } from "vitest";
import type { CallEnding, CallObserver, ObservedRequest } from "../../src/index.ts";
import { patienceMs } from "./within.ts";

/** An observer that records its notifications. */
export function recordCalls() {
  /** One line per call, in the order of their ends: `GetLibrary rest ok`. */
  const ended: string[] = [];
  /** The messages of their errors. */
  const messages: (string | undefined)[] = [];
  let begun = 0;
  const recorded = {
    ended,
    messages,
    /** The number of calls that have begun and not ended. */
    get underWay() {
      return begun - ended.length;
    },
    /** Resolves when this many have ended. */
    until: (count: number) =>
      vi.waitUntil(() => ended.length >= count, { timeout: patienceMs, interval: 1 }),
    begin({ method, protocol }: ObservedRequest) {
      begun++;
      return {
        end({ code, error }: CallEnding) {
          messages.push(error?.rawMessage);
          const outcome = code === undefined ? "ok" : Code[code];
          ended.push(`${method?.name ?? "none"} ${protocol} ${outcome}`);
        },
      };
    },
  };
  return recorded satisfies CallObserver;
}
