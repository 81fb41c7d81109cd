import { expect, test } from "vitest";
import { traceIdOf } from "../../src/logging/access-log.ts";

const trace = "0af7651916cd43dd8448eb211c80319c";
const parent = "b7ad6b7169203331";

test.each([
  [`00-${trace}-${parent}-01`, true],
  [`00-${trace}-${parent}-00`, true],
  [`cc-${trace}-${parent}-01`, true],
  [`cc-${trace}-${parent}-01-of-later`, true],
  [`00-${trace}-${parent}-01-of-later`, false],
  [`ff-${trace}-${parent}-01`, false],
  [`00-${"0".repeat(32)}-${parent}-01`, false],
  [`00-${trace}-${"0".repeat(16)}-01`, false],
  [`00-${trace.toUpperCase()}-${parent}-01`, false],
  [`00-${trace}-${parent}`, false],
  [`00-${trace}-${parent}-01\n`, false],
  [` 00-${trace}-${parent}-01`, false],
  ["", false],
  [undefined, false],
])("%j: has a trace is %s", (traceparent, isTraced) => {
  expect(traceIdOf(traceparent)).toBe(isTraced ? trace : undefined);
});
