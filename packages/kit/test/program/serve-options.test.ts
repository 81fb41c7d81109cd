import { expect, test } from "vitest";
import { serveOptions } from "../../src/program/serve-options.ts";

test("of responses that cannot be created, one a second is logged", () => {
  const logged: unknown[] = [];
  const log = { error: (...line: unknown[]) => logged.push(line) };
  const settings = { accessLog: "off", rateLimitPerAddress: 0, limits: { bodyBudgetBytes: 1 } };
  const { onError } = serveOptions({ log, settings } as never).common;
  for (const cause of ["first", "second"]) onError(cause);
  expect(logged).toEqual([["cannot create a response", "first"]]);
});
