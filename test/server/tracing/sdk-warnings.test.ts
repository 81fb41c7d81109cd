/** However much the SDK warns, the log stays readable. */
import { diag } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { logSdkWarnings } from "../../../src/server/tracing/sdk.ts";
import { createRecordedLog } from "../../support/recorded-log.ts";

test("of what the SDK warns of without end, a few short lines are told", () => {
  const recorded = createRecordedLog();
  logSdkWarnings(recorded);
  for (let i = 0; i < 1000; i++) diag.warn("Dropped spans ".repeat(100), { body: "secret" });
  diag.info("nothing of interest");
  expect(recorded.lines.length).toBeGreaterThan(0);
  expect(recorded.lines.length).toBeLessThan(25); // also if a minute begins meanwhile
  for (const { level, message } of recorded.lines) {
    expect(level).toBe("warn");
    expect(message).toMatch(/^OpenTelemetry: Dropped spans/);
    expect(message).not.toContain("secret");
    expect(message.length).toBeLessThanOrEqual(300);
  }
});
