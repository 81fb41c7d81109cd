/** What exporting spans does to the server; who does not ask for traces pays nothing for them. */
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { environmentFor } from "../../../packages/kit/test/support/tracing/environment.ts";
import { openOtlpCollector } from "../../../packages/kit/test/support/tracing/otlp-collector.ts";
import { main } from "../../support/child.ts";
import { type SpawnedServer, spawnServer } from "../../support/child-server.ts";
import { postPlant, statusOfCreate } from "../../support/plant-request.ts";

const recorder = fileURLToPath(new URL("../../support/record-opentelemetry.ts", import.meta.url));

/** Whatever the machine of the tests has. */
const withoutTracing = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) => name.startsWith("OTEL_"))
    .map((name) => [name, ""]),
);

/** A server from the sources, which tells which parts of OpenTelemetry it loads. */
function spawnRecorded(env: Readonly<Record<string, string>>) {
  return spawnServer({
    env: { ...withoutTracing, NODE_OPTIONS: `--import ${recorder}`, ...env },
    args: ["--access-log", "on"],
    program: main,
  });
}

async function end(server: SpawnedServer): Promise<readonly string[]> {
  server.process.kill("SIGTERM");
  // Killed, if it took too long.
  expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
  return server.stderr.text.split("\n");
}

test("a collector that never answers stops no request, and no end", async () => {
  await using collector = await openOtlpCollector({ answer: () => "silence" });
  const env = environmentFor(collector.url);
  await using server = await spawnServer({ env, args: ["--drain-timeout-ms", "1000"] });
  for (let id = 0; id < 20; id++) expect(await statusOfCreate(server.url, id)).toBe(200);
  await end(server);
  expect(server.stderr.text.match(/the last spans did not arrive/g)).toHaveLength(1);
});

test("spans go to standard output on request", async () => {
  await using server = await spawnServer({ env: { OTEL_TRACES_EXPORTER: "console" } });
  await postPlant(server.url);
  await server.stdout.until(/name: 'POST \/plants'[\s\S]*'http.response.status_code': 200/);
});

test("when all is off, nothing of OpenTelemetry is loaded, and nothing sent", async () => {
  await using collector = await openOtlpCollector();
  const env = { ...environmentFor(collector.url), OTEL_SDK_DISABLED: "true" };
  await using server = await spawnRecorded({ ...env, OTEL_TRACES_EXPORTER: "otlp" });
  expect(await statusOfCreate(server.url, 1)).toBe(200);
  expect((await end(server)).filter((line) => line.startsWith("loaded"))).toEqual([]);
  expect(collector.exports).toEqual([]);
});

test("with a collector it is loaded, and the log has the trace of the span: the caller's, or its own", async () => {
  await using collector = await openOtlpCollector();
  await using server = await spawnRecorded(environmentFor(collector.url));
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const parent = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
  for (const headers of [{}, parent]) await postPlant(server.url, { headers });
  const [first, second] = await collector.until(2);
  const lines = await end(server);
  expect(lines).toContain("loaded @opentelemetry/sdk-trace");
  const logged = lines.filter((line) => line.includes('"request"'));
  expect(logged.map((line) => JSON.parse(line).traceId)).toEqual([first?.traceId, second?.traceId]);
  expect(second?.traceId).toBe(traceId);
  expect(collector.calls).toHaveLength(2);
});
