/** The plants that must be stored for a figure of the bench. */
import { expect, test } from "vitest";
import { assertStored } from "../../bench/account.ts";

test.each([
  [100, 100, 8, true],
  [108, 100, 8, true],
  [99, 100, 8, false],
  [109, 100, 8, false],
])("%d stored of %d acknowledged and %d unanswered: %s", (stored, acknowledged, unanswered, ok) => {
  const check = () => assertStored(stored, { acknowledged, unanswered });
  if (ok) check();
  else expect(check).toThrow(`${stored} plants are stored`);
});
