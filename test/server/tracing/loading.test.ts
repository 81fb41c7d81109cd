/** Who does not ask for traces pays nothing for them. */

import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { environmentFor } from "../../../packages/proxy/test/support/tracing/environment.ts";
import { openOtlpCollector } from "../../../packages/proxy/test/support/tracing/otlp-collector.ts";
import { spawnServer } from "../../support/child-server.ts";
import { postPlant } from "../../support/plant-request.ts";

const recorder = fileURLToPath(new URL("../../support/record-opentelemetry.ts", import.meta.url));

/** Serves a request and ends. @returns what of OpenTelemetry was loaded by then. */
async function loadedWith(env: Record<string, string>): Promise<string[]> {
  await using server = await spawnServer({
    env: { ...withoutTracing, NODE_OPTIONS: `--import ${recorder}`, ...env },
    args: ["--access-log", "on"],
  });
  expect(await postPlant(server.url)).toMatchObject({ status: 200 });
  server.process.kill("SIGTERM");
  expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
  return server.stderr.text.split("\n").filter((line) => line.startsWith("loaded"));
}

/** Whatever the machine of the tests has. */
const withoutTracing = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => name.startsWith("OTEL_"))
    .map((name) => [name, ""]),
);

test.each([
  ["without variables", {}],
  ["when all is off", { OTEL_SDK_DISABLED: "true", OTEL_TRACES_EXPORTER: "otlp" }],
])("%s nothing of OpenTelemetry is loaded, and nothing sent", async (_, env) => {
  await using collector = await openOtlpCollector();
  const endpoint = "OTEL_SDK_DISABLED" in env ? environmentFor(collector.url) : {};
  expect(await loadedWith({ ...endpoint, ...env })).toEqual([]);
  expect(collector.exports).toEqual([]);
});

test("with a collector it is loaded, and sends what there is", async () => {
  await using collector = await openOtlpCollector();
  const loaded = await loadedWith(environmentFor(collector.url));
  expect(loaded).toContain("loaded @opentelemetry/sdk-trace");
  expect(collector.calls).toHaveLength(1);
});
