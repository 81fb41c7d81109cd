/** What exporting spans does to the server. */

import { expect, onTestFinished, test } from "vitest";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { environmentFor } from "../../../packages/proxy/test/support/tracing/environment.ts";
import { openOtlpCollector } from "../../../packages/proxy/test/support/tracing/otlp-collector.ts";
import { spawnServer } from "../../support/child-server.ts";
import { findFreePort } from "../../support/free-port.ts";
import { postPlant } from "../../support/plant-request.ts";
import { newPlantJson } from "../../support/protocol/message.ts";

async function openSilent(): Promise<string> {
  const collector = await openOtlpCollector({ answer: () => "silence" });
  onTestFinished(() => collector[Symbol.asyncDispose]());
  return collector.url;
}

test.each([
  ["is down", async () => `http://127.0.0.1:${await findFreePort()}`],
  ["never answers", openSilent],
])("a collector that %s stops no request, and no end", async (_, open) => {
  const url = await open();
  await using server = await spawnServer({
    env: environmentFor(url),
    args: ["--drain-timeout-ms", "1000"],
  });
  for (let id = 0; id < 20; id++) {
    const body = newPlantJson({ id: BigInt(id), name: "Basil" });
    expect(await postPlant(server.url, { body })).toMatchObject({ status: 200 });
  }
  server.process.kill("SIGTERM");
  // Killed, if it took too long.
  expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
  expect(server.stderr.text.match(/the last spans did not arrive/g)).toHaveLength(1);
});

test("spans go to standard output on request", async () => {
  await using server = await spawnServer({ env: { OTEL_TRACES_EXPORTER: "console" } });
  await postPlant(server.url);
  await server.stdout.until(/name: 'POST \/plants'[\s\S]*'http.response.status_code': 200/);
});

const parent = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" };

test("the log has the trace of the span: the caller's, or its own", async () => {
  await using collector = await openOtlpCollector();
  await using server = await spawnServer({
    env: environmentFor(collector.url),
    args: ["--access-log", "on"],
  });
  for (const headers of [{}, parent]) await postPlant(server.url, { headers });
  const [first, second] = await collector.until(2);
  server.process.kill("SIGTERM");
  await within("the end", server.exited);
  const lines = server.stderr.text.split("\n").filter((line) => line.includes('"request"'));
  expect(lines.map((line) => JSON.parse(line).traceId)).toEqual([first?.traceId, second?.traceId]);
  expect(second?.traceId).toBe("0af7651916cd43dd8448eb211c80319c");
});
