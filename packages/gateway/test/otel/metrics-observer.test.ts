/** The duration of requests, by the conventions, without values that clients choose. */
import {
  DataPointType,
  type HistogramMetricData,
  MeterProvider,
  MetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, test } from "vitest";
import { composeObservers } from "../../src/index.ts";
import { createMetricsObserver } from "../../src/otel/index.ts";
import { recordCalls } from "../support/recorded-calls.ts";
import { describedCalls, openLibrary } from "./described-calls.ts";

class TestReader extends MetricReader {
  protected override async onForceFlush(): Promise<void> {}
  protected override async onShutdown(): Promise<void> {}
}

async function openMeasured(options: { readonly scheme?: "http" | "https" } = {}) {
  const reader = new TestReader();
  const meter = new MeterProvider({ readers: [reader] }).getMeter("test");
  const metrics = createMetricsObserver({ meter, ...options });
  const calls = recordCalls();
  const observer = composeObservers([metrics, calls], (error) => {
    throw error;
  });
  const gateway = await openLibrary({ ...(observer && { observer }) });

  /** The recorded metrics after `count` calls have ended. */
  async function read(count: number): Promise<HistogramMetricData[]> {
    await calls.until(count);
    const { resourceMetrics } = await reader.collect();
    return resourceMetrics.scopeMetrics
      .flatMap(({ metrics }) => metrics)
      .filter((metric) => metric.dataPointType === DataPointType.HISTOGRAM);
  }
  return { gateway, read, [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose]() };
}

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test.each(describedCalls)("$name with $attributes (%#)", async ({ request, attributes }) => {
    await using measured = await openMeasured();
    await measured.gateway.send({ version, ...request }).catch(() => {});
    const [duration, ...more] = await measured.read(1);
    const isRest = "http.request.method" in attributes;
    expect(more).toEqual([]);
    expect(duration?.descriptor).toMatchObject({
      name: isRest ? "http.server.request.duration" : "rpc.server.call.duration",
      unit: "s",
    });
    expect(duration?.dataPoints).toHaveLength(1);
    expect(duration?.dataPoints[0]?.attributes).toEqual(attributes);
    expect(duration?.dataPoints[0]?.value.count).toBe(1);
  });
});

test("the buckets are those of the conventions, in seconds", async () => {
  await using measured = await openMeasured();
  const begunAt = performance.now();
  await measured.gateway.send({ method: "GET", path: "/v1/library" });
  const [duration] = await measured.read(1);
  const secondsMax = (performance.now() - begunAt) / 1000;
  const { buckets, sum = 0 } = duration?.dataPoints[0]?.value ?? {};
  expect(buckets?.boundaries).toEqual([
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
  ]);
  expect(sum).toBeGreaterThan(0);
  expect(sum).toBeLessThanOrEqual(secondsMax);
});

test("there is one series, whatever paths, hosts and methods clients use", async () => {
  await using measured = await openMeasured({ scheme: "https" });
  for (let i = 0; i < 20; i++) {
    const headers = { host: `host-${i}.example`, "user-agent": `agent ${i}` };
    const path = `/nothing/${i}?query=${i}`;
    await measured.gateway.send({ method: "PROPFIND", path, headers });
  }
  const [duration] = await measured.read(20);
  expect(duration?.dataPoints.map(({ attributes }) => attributes)).toEqual([
    { "http.request.method": "_OTHER", "url.scheme": "https", "http.response.status_code": 404 },
  ]);
});
