/** Before each file of tests: a token that a server writes down fails the test that it was written in. */
import { afterAll, afterEach } from "vitest";
import { takeLeaks } from "./token-leaks.ts";

function assertNoLeak(): void {
  const leaks = takeLeaks();
  if (leaks.length > 0) throw new Error(leaks.join("\n"));
}

afterEach(assertNoLeak);
afterAll(assertNoLeak);
