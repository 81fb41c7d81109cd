/** Who does not ask for traces pays nothing for them. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { exchange } from "../../../packages/gateway/test/support/http-exchange.ts";
import { createTemporaryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { spawnServer } from "../../support/child-server.ts";
import { openOtlpCollector } from "../../support/otlp-collector.ts";
import { newPlantJson } from "../../support/protocol/message.ts";
import { knownToken } from "../../support/test-server.ts";
import { environmentFor } from "./tracing-environment.ts";

const recorder = fileURLToPath(new URL("../../support/record-opentelemetry.ts", import.meta.url));
const headers = { authorization: `Bearer ${knownToken}`, "content-type": "application/json" };

/** Serves a request and ends. @returns what of OpenTelemetry was loaded by then. */
async function loadedWith(env: Record<string, string>): Promise<string[]> {
  await using folder = await createTemporaryFolder();
  await using server = await spawnServer({
    cwd: folder.path,
    env: { ...withoutTracing, NODE_OPTIONS: `--import ${recorder}`, ...env },
    args: ["--access-log", "on"],
  });
  const body = newPlantJson({ id: 1n, name: "Basil" });
  const request = { origin: server.url, version: "1.1", path: "/plants", headers, body } as const;
  expect(await exchange(request)).toMatchObject({ status: 200 });
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
