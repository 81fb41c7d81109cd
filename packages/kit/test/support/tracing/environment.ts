import { vi } from "vitest";

/** The variables that tell a server to send its spans to a collector, without waiting long. */
export function environmentFor(url: string): Readonly<Record<string, string>> {
  return { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_BSP_SCHEDULE_DELAY: "10" };
}

/** Sets variables until the test ends: servers in this process read them when they start. */
export function stubEnvironment(env: Readonly<Record<string, string>>): Disposable {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  return { [Symbol.dispose]: () => void vi.unstubAllEnvs() };
}
