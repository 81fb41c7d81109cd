/** What a scraper that asks without end may cost. */
import dns from "node:dns";
import { once } from "node:events";
import { get } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { openAdmin } from "../../src/metrics/admin.ts";
import { ServiceMetrics } from "../../src/metrics/service-metrics.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";

const sourceOf = (metrics: () => Promise<string>, isReady = () => true) => ({
  registry: { contentType: "a/b", metrics } as never,
  isReady,
});

const ask = "GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";

test("scrapes at the same time share one text, and the next has its own", async () => {
  let renders = 0;
  const render = async () => {
    const text = `rendered ${++renders}\n`;
    await (renders < 3 ? nextTurn() : new Promise(() => {}));
    return text;
  };
  const listener = await openAdmin({ host: "127.0.0.1", port: 0 }, sourceOf(render));
  using scraper = await openRawConnection(listener.address.port);
  const answered = (text: string, count: number) => (received: Buffer) =>
    received.toString().split(text).length === count + 1;
  scraper.write(ask.repeat(50));
  await scraper.until("50 answers", answered("rendered 1\n", 50));
  scraper.write(ask);
  await scraper.until("one more", answered("rendered 2\n", 1));
  expect(renders).toBe(2);
  scraper.write(ask);
  await vi.waitFor(() => expect(renders).toBe(3));
  await within("the end, which waits a second for an answer", listener.close());
});

test.each([
  ["localhost", "evil.example", 403],
  ["localhost", "localhost.evil.example", 403],
  ["localhost", "127.0.0.1:9464", 200],
  ["localhost", "LOCALHOST:9464", 200],
  ["localhost", "a.localhost", 200],
  ["localhost", "a.localhost.", 200],
  ["localhost", "plant-store:9464", 200],
  ["metrics.example", "metrics.example:9464", 200],
  ["Metrics.example", "metrics.example", 200],
  ["metrics.example", "evil.example", 403],
])("at %s, metrics for the Host %j are answered %d, probes 200", async (own, host, status) => {
  using _ = vi.spyOn(dns, "lookup").mockImplementation(((...args: unknown[]) => {
    process.nextTick(args.at(-1) as () => void, null, "127.0.0.1", 4);
  }) as never);
  const listener = await openAdmin(
    { host: own, port: 0 },
    sourceOf(async () => ""),
  );
  onTestFinished(listener.close);
  const { address, port } = listener.address;
  const statusOf = async (path: string) => {
    const asked = get({ host: address, port, path, headers: { host } });
    const [response] = await once(asked, "response");
    response.resume();
    return response.statusCode;
  };
  expect(await statusOf("/metrics")).toBe(status);
  expect(await statusOf("/healthz")).toBe(200);
  expect(await statusOf("/readyz")).toBe(200);
});

test("probes learn whether the service is ready, and nothing else is served", async () => {
  let isReady: () => boolean = () => false;
  const source = sourceOf(
    async () => `${isReady()}`,
    () => isReady(),
  );
  const listener = await openAdmin({ host: "127.0.0.1", port: 0 }, source);
  onTestFinished(listener.close);
  const origin = `http://127.0.0.1:${listener.address.port}`;
  const statusOf = async (path: string, method = "GET") =>
    (await fetch(`${origin}${path}`, { method })).status;
  expect(await statusOf("/healthz")).toBe(200);
  expect(await statusOf("/readyz")).toBe(503);
  isReady = () => expect.unreachable(); // an error that nobody handles would end the process
  for (const path of ["/readyz", "/metrics"]) expect(await statusOf(path)).toBe(500);
  isReady = () => true;
  expect(await statusOf("/readyz")).toBe(200);
  expect(await statusOf("/")).toBe(404);
  for (const method of ["GET", "HEAD"]) expect(await statusOf("/metrics?x=1", method)).toBe(200);
  const refused = await fetch(`${origin}/metrics`, { method: "POST" });
  expect([refused.status, refused.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect(refused.headers.get("connection")).toBe("close");
});

test("the bytes of bodies are shown, and how many were refused", async () => {
  const metrics = new ServiceMetrics({ prefix: "a", version: "", nameOf: ({ name }) => name });
  onTestFinished(metrics.close);
  metrics.watchBodies({ heldBytes: 5, refusals: 6 } as never);
  const text = await metrics.registry.metrics();
  expect(text).toMatch(/\na_body_bytes 5\n.*\na_body_refusals_total 6\n/s);
});

test("names of methods beyond the limit, and none, are one series", async () => {
  const nameOf = ({ name }: { name: string }) => (name === "None" ? undefined : name);
  const metrics = new ServiceMetrics({ prefix: "a", version: "", nameOf, namesMax: 2 });
  onTestFinished(metrics.close);
  for (const name of ["None", "A", "B", "C", "A"]) {
    metrics.calls.begin({ method: { name }, protocol: "grpc" } as never)?.end({} as never);
  }
  const text = await metrics.registry.metrics();
  const counts = text.matchAll(/^a_requests_total\{method="(\w+)".* (\d)$/gm);
  expect([...counts].map(([, ...one]) => one.join()).sort()).toEqual(["A,2", "B,1", "other,2"]);
});

test("nothing is measured by the clock of the system, which may be set forward by years", () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "hrtime"] });
  onTestFinished(() => void vi.useRealTimers());
  const { close } = new ServiceMetrics({ prefix: "a", version: "", nameOf: ({ name }) => name });
  onTestFinished(close);
  using clock = vi.spyOn(Date, "now");
  vi.advanceTimersByTime(1000);
  expect(clock).not.toHaveBeenCalled();
});
