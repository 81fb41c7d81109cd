import { Unavailable } from "./tool.ts";

/** Counts the checks of a program, prints each, and at its end the line that tools read. */
export function createTally(program: string) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const print = (line: string) => process.stdout.write(`${line}\n`);
  return {
    /** @param check May return what to print. To be skipped, it throws Unavailable. */
    async add(name: string, check: () => Promise<unknown>): Promise<void> {
      let outcome: keyof typeof counts = "passed";
      let detail: unknown;
      try {
        detail = await check();
      } catch (error) {
        outcome = error instanceof Unavailable ? "skipped" : "failed";
        const { message, cause } = error as Error;
        detail = cause === undefined ? message : `${message} (${cause})`;
      }
      counts[outcome]++;
      print(`${name}: ${outcome}${typeof detail === "string" ? `: ${detail}` : ""}`);
    },
    [Symbol.dispose]() {
      const { passed, failed, skipped } = counts;
      print(`\n${program}: ${passed} passed, ${failed} failed, ${skipped} skipped`);
      if (failed > 0) process.exitCode = 1;
    },
  };
}
