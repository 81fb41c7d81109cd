/** How spans are sent, and what a collector that is away, slow or choosy does to the program: nothing. */
import { createContextValues } from "@connectrpc/connect";
import { trace } from "@opentelemetry/api";
import type { ObservedRequest } from "connect-gateway";
import { callContextKey } from "connect-gateway/otel";
import { afterEach, expect, test, vi } from "vitest";
import { within } from "../../../gateway/test/support/within.ts";
import { openTracing } from "../../src/tracing/open.ts";
import type { Tracing } from "../../src/tracing/sdk.ts";
import { createRecordedLog } from "../support/recorded-log.ts";
import { environmentFor } from "../support/tracing/environment.ts";
import { openOtlpCollector } from "../support/tracing/otlp-collector.ts";

const log = createRecordedLog;
const program = { name: "a-program", version: "1.0.0" };

afterEach(() => void vi.unstubAllEnvs());

/** The tracing of a thread, as these variables have it. */
async function openWith(env: Readonly<Record<string, string>>, recorded = log()): Promise<Tracing> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const tracing = await openTracing({ program, scheme: "http", log: recorded });
  if (tracing === undefined) throw new Error("nothing is traced");
  return tracing;
}

const request: ObservedRequest = {
  method: undefined,
  pathTemplate: "/plants",
  protocol: "rest",
  requestMethod: "POST",
  target: "/plants",
  headers: { host: "localhost" },
  peerAddress: () => undefined,
};

function makeSpans({ calls }: Tracing, count = 1): void {
  for (let i = 0; i < count; i++)
    calls.begin({ ...request })?.end({ code: undefined, error: undefined, status: 200 });
}

/** Makes so many spans, and ends. @returns what was told meanwhile. */
async function traceAndEnd(env: Readonly<Record<string, string>>, count = 1) {
  const recorded = log();
  const tracing = await openWith(env, recorded);
  makeSpans(tracing, count);
  await within("the end", tracing.close());
  return recorded.lines;
}

test("what has ended is sent when the service ends, without waiting for its time", async () => {
  await using collector = await openOtlpCollector();
  const minute = { OTEL_BSP_SCHEDULE_DELAY: "60000" };
  await traceAndEnd({ ...environmentFor(collector.url), ...minute }, 700); // more than a batch
  expect(collector.calls).toHaveLength(700);
});

test("that a collector refuses is told once, and when it takes again", async () => {
  await using collector = await openOtlpCollector({
    answer: (index) => ({ status: index < 2 ? 400 : 200 }),
  });
  const recorded = log();
  const tracing = await openWith(environmentFor(collector.url), recorded);
  for (const count of [1, 2, 3]) {
    makeSpans(tracing);
    await collector.untilExports(count);
  }
  await within("the end", tracing.close());
  expect(recorded.lines).toEqual([
    { level: "warn", message: "cannot export spans; they are lost", cause: expect.anything() },
    { level: "info", message: "spans are exported again", cause: undefined },
  ]);
  expect(String(recorded.lines[0]?.cause)).toMatch(/Bad Request/);
});

/** ExportTraceServiceResponse: partial_success { rejected_spans: 1 }. */
const oneRefused = Uint8Array.of(0x0a, 0x02, 0x08, 0x01);

test("that a collector refuses a part of a batch is told", async () => {
  await using collector = await openOtlpCollector({
    answer: () => ({ status: 200, body: oneRefused }),
  });
  expect(await traceAndEnd(environmentFor(collector.url))).toMatchObject([
    { level: "warn", message: expect.stringMatching(/Partial Success.*"rejectedSpans":1/) },
  ]);
});

test("what has no room is dropped, and that is told", async () => {
  await using collector = await openOtlpCollector();
  const recorded = log();
  const room = { OTEL_BSP_MAX_QUEUE_SIZE: "4", OTEL_BSP_MAX_EXPORT_BATCH_SIZE: "4" };
  const tracing = await openWith({ ...environmentFor(collector.url), ...room }, recorded);
  makeSpans(tracing, 100);
  await collector.untilExports(2); // of what was at once, and of what then had room
  makeSpans(tracing);
  await within("the end", tracing.close());
  expect(collector.calls.length).toBe(9);
  const message = expect.stringMatching(/^OpenTelemetry: Dropped \d+ spans/);
  expect(recorded.lines).toEqual([{ level: "warn", message, cause: undefined }]);
});

test.each<[env: Record<string, string>, warning: RegExp]>([
  [{ OTEL_TRACES_SAMPLER: "some" }, /OTEL_TRACES_SAMPLER: unknown sampler some/],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "7" }, /SAMPLER_ARG: must be/],
  [{ OTEL_BSP_MAX_QUEUE_SIZE: "-1" }, /OTEL_BSP_MAX_QUEUE_SIZE: must be a whole number/],
  [{ OTEL_BSP_SCHEDULE_DELAY: "2147483648" }, /OTEL_BSP_SCHEDULE_DELAY: must be a whole number/],
  [{ OTEL_BSP_SCHEDULE_DELAY: "soon" }, /OTEL_BSP_SCHEDULE_DELAY/],
  [
    { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
    /grpc is not supported; spans are sent as http\/protobuf/,
  ],
  [{ OTEL_EXPORTER_OTLP_COMPRESSION: "zstd" }, /COMPRESSION is invalid/],
])("%j is told, and passed over", async (env, warning) => {
  await using collector = await openOtlpCollector();
  const known = { ...environmentFor(collector.url), OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf" };
  const lines = await traceAndEnd({ ...known, ...env });
  expect(collector.calls).toHaveLength(1);
  const message = expect.stringMatching(warning);
  expect(lines).toEqual([{ level: "warn", message, cause: undefined }]);
});

const parent = (flags: string) => ({
  traceparent: `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-${flags}`,
});

/** By what the caller does: not trace, sample, not sample. */
test.each<[env: Record<string, string>, sampled: readonly boolean[]]>([
  [{}, [true, true, false]],
  [{ OTEL_TRACES_SAMPLER: "always_on" }, [true, true, true]],
  [{ OTEL_TRACES_SAMPLER: "always_off" }, [false, false, false]],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" }, [false, false, false]],
  [{ OTEL_TRACES_SAMPLER: "traceidratio", OTEL_TRACES_SAMPLER_ARG: "1" }, [true, true, true]],
  [{ OTEL_TRACES_SAMPLER: "parentbased_always_on" }, [true, true, false]],
  [{ OTEL_TRACES_SAMPLER: "parentbased_always_off" }, [false, true, false]],
  [
    { OTEL_TRACES_SAMPLER: "parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG: "0" },
    [false, true, false],
  ],
])("%j samples %j", async (env, sampled) => {
  const tracing = await openWith({ ...environmentFor("http://127.0.0.1:1"), ...env });
  const begun = [{}, parent("01"), parent("00")].map((headers) => {
    const observed = { ...request, headers };
    const values = createContextValues();
    // The span never ends: nothing is sent.
    tracing.calls.begin(observed)?.calling?.(values);
    return { isSampled: trace.getSpan(values.get(callContextKey))?.isRecording(), observed };
  });
  expect(begun.map(({ isSampled }) => isSampled)).toEqual(sampled);
  for (const { observed } of begun) expect(tracing.traceIdOf(observed)).toMatch(/^[\da-f]{32}$/);
  const timers = () => process.getActiveResourcesInfo().filter((one) => one === "Timeout").length;
  const before = timers();
  await tracing.close();
  expect(timers()).toBeLessThanOrEqual(before);
});
