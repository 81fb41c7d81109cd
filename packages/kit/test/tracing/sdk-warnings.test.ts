/** However much the SDK warns, the log stays readable. */
import { diag } from "@opentelemetry/api";
import { expect, test, vi } from "vitest";
import { logSdkWarnings } from "../../src/tracing/sdk.ts";

test("of what the SDK warns of without end, a few short lines are told", () => {
  const lines: { level: string; message: string }[] = [];
  const record = (level: string) => (message: string) => void lines.push({ level, message });
  logSdkWarnings({ info: record("info"), warn: record("warn"), error: record("error") });
  for (let i = 0; i < 1000; i++) diag.warn("Dropped spans ".repeat(100), { body: "secret" });
  diag.info("nothing of interest");
  const { length } = lines;
  const later = performance.now() + 60_000;
  using _ = vi.spyOn(performance, "now").mockReturnValueOnce(later);
  diag.warn("Dropped spans a minute later");
  expect(lines).toHaveLength(length + 1);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.length).toBeLessThan(25); // also if a minute begins meanwhile
  for (const { level, message } of lines) {
    expect(level).toBe("warn");
    expect(message).toMatch(/^OpenTelemetry: Dropped spans/);
    expect(message).not.toContain("secret");
    expect(message.length).toBeLessThanOrEqual(300);
  }
});
