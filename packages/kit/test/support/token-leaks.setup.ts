/** Runs before each test file: a token that a server writes fails the test that was running. */
import { afterAll, afterEach } from "vitest";
import { takeLeaks } from "./token-leaks.ts";

function assertNoLeak(): void {
  const leaks = takeLeaks();
  if (leaks.length > 0) throw new Error(leaks.join("\n"));
}

afterEach(assertNoLeak);
afterAll(assertNoLeak);
