/** What operators see: every request once, under few names, whatever strangers send. */
import type { ClientHttp2Session } from "node:http2";
import { Registry } from "@prometheus-io/client";
import { Health } from "connect-gateway/health";
import { describe, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { exchange, exchangeOn } from "../../packages/gateway/test/support/exchange.ts";
import { grpcProtocol } from "../../packages/gateway/test/support/open-client.ts";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createCommitMetrics } from "../../src/server/commit-metrics.ts";
import { reportUnreachable } from "../../src/server/obstacles.ts";
import { lockStore } from "../support/locked-store.ts";
import { get, plantHeaders as headers, postPlant } from "../support/plant-request.ts";
import { createPlantPath, newPlantJson } from "../support/protocol/message.ts";
import { labelOf, protocols } from "../support/protocol/protocols.ts";
import { type Scrape, scrape, scrapeUntil } from "../support/scrape.ts";
import { openSession } from "../support/session.ts";
import { storeKinds } from "../support/store-place.ts";
import { openTestServer } from "../support/test-server.ts";
import { useTestServer } from "../support/use-test-server.ts";

test("what a store tells is shown: commits in seconds, its queue, its log, its nodes", async () => {
  const registry = new Registry();
  const metrics = createCommitMetrics(registry);
  metrics.commitEnded({ rows: 1, durationMs: 2000, isFailed: false });
  metrics.queueChanged(3, 4);
  metrics.logChanged?.(5);
  reportUnreachable({ warn() {} } as never, metrics)(["a", "b", "c", "d", "e", "f"]);
  const text = await registry.metrics();
  const names = "commit_duration_seconds_sum queue_rows queue_bytes log_bytes nodes_unreachable";
  for (const [i, name] of names.split(" ").entries())
    expect(text).toContain(`plant_store_${name} ${i + 2}\n`);
});

const observed = { adminPort: 0 } as const;

async function post(session: ClientHttp2Session, id: bigint): Promise<number> {
  const body = newPlantJson({ id, name: "Basil" });
  return (await exchangeOn(session, { path: "/plants", headers, body })).status;
}

const requests = (protocol: string, code: string, method = "CreatePlant") =>
  `plant_store_requests_total{method="${method}",protocol="${protocol}",code="${code}"}`;

function requestsIn({ series }: Scrape): Record<string, number> {
  const all = [...series].filter(([name]) => name.startsWith("plant_store_requests_total{"));
  return Object.fromEntries(all);
}

test("calls of every protocol are counted by code, and timed", async () => {
  await using server = await openTestServer(observed);
  for (const { open } of protocols) {
    using caller = open(server.url);
    for (const id of [1n, 2n, 3n]) await caller.create({ id, name: "Basil" });
    await caller.create({ id: 1n, name: "Mint" });
    await caller.create({ name: "Mint" });
    await caller.create({ id: 1n, name: "Basil" }, { authorization: null });
  }
  const scraped = await scrape(server.running.metricsUrl);
  const byLabel = Map.groupBy(protocols, ({ name }) => labelOf(name));
  const counts = [...byLabel].flatMap(([label, { length }]) => [
    [requests(label, "OK"), 3 * length],
    ...["ALREADY_EXISTS", "INVALID_ARGUMENT", "UNAUTHENTICATED"].map((code) => [
      ...[requests(label, code), length],
    ]),
  ]);
  expect(requestsIn(scraped)).toEqual(Object.fromEntries(counts));
  const seconds = "plant_store_request_duration_seconds";
  for (const [label, { length }] of byLabel) {
    expect(scraped.value(`${seconds}_count{protocol="${label}"}`)).toBe(6 * length);
    expect(scraped.value(`${seconds}_bucket{le="+Inf",protocol="${label}"}`)).toBe(6 * length);
    expect(scraped.value(`${seconds}_sum{protocol="${label}"}`)).toBeGreaterThan(0);
  }
  expect(inFlight(scraped)).toBe(0);
});

test("strangers make no series, whatever they send", async () => {
  await using server = await openTestServer(observed);
  const { metricsUrl } = server.running;
  const before = await scrape(metricsUrl);
  const send = (version: "1.1" | "2", method: string, path: string, type = "text/strange") =>
    exchange({ origin: server.url, version, method, path, headers: { "content-type": type } });
  for (const version of ["1.1", "2"] as const) {
    await send(version, "GET", "/strange/path");
    await send(version, "PROPFIND", "/plants");
    await send(version, "POST", "/plants");
    await send(version, "POST", createPlantPath);
    await send(version, "POST", "/strange.v1.Service/Strange", "application/grpc+strange");
    await send(version, "POST", "/strange.v1.Service/Strange", "application/grpc-web+strange");
    await send(version, "GET", "/healthz");
  }
  const after = await scrape(metricsUrl);
  const ours = ({ series }: Scrape) =>
    [...series.keys()].filter((name) => /^plant_store_(?!requests_total)/.test(name));
  expect(ours(after)).toEqual(ours(before));
  expect(requestsIn(before)).toEqual({});
  expect(requestsIn(after)).toEqual({
    [requests("rest", "NOT_FOUND", "other")]: 2,
    [requests("rest", "UNIMPLEMENTED", "other")]: 2,
    [requests("rest", "UNAUTHENTICATED")]: 2,
    [requests("connect", "INVALID_ARGUMENT")]: 2,
    [requests("grpc", "UNIMPLEMENTED", "other")]: 2,
    [requests("grpc-web", "UNIMPLEMENTED", "other")]: 2,
  });
  expect(after.value('plant_store_request_duration_seconds_count{protocol="rest"}')).toBe(6);
});

test.each(["off", "errors"] as const)(
  "what is no request of HTTP is counted by its reason, also where it is logged: %s",
  async (accessLog) => {
    const limits = { headerBytesMax: 1000 };
    await using server = await openTestServer({ ...observed, accessLog, limits });
    for (const text of ["GET / HTTP/1.1\r\nbad header\r\n\r\n", "nonsense\r\n\r\n"]) {
      using connection = await openRawConnection(server.port);
      connection.write(text);
      await connection.untilClosed();
    }
    const long = { "x-long": "x".repeat(2000) };
    for (const version of ["1.1", "2"] as const) {
      expect((await postPlant(server.url, { version, headers: long })).status).toBe(431);
    }
    const scraped = await scrape(server.running.metricsUrl);
    expect(scraped.value('plant_store_http_refusals_total{reason="malformed"}')).toBe(2);
    expect(scraped.value('plant_store_http_refusals_total{reason="oversized"}')).toBe(2);
    expect(scraped.value('plant_store_http_refusals_total{reason="tunnel"}')).toBe(0);
    expect(scraped.value('plant_store_http_refusals_total{reason="handshake"}')).toBe(0);
    expect(requestsIn(scraped)).toEqual({});
  },
);

test("a stream is counted, and no latency of the protocol", async () => {
  await using server = await openTestServer(observed);
  const { metricsUrl } = server.running;
  using health = grpcProtocol.open(Health, server.url);
  await health.client.check({});
  const leave = new AbortController();
  const watch = health.client.watch({}, { signal: leave.signal })[Symbol.asyncIterator]();
  await within("a status", watch.next());
  const left = watch.next().catch(() => {});
  leave.abort();
  await left;
  const cancelled = requests("grpc", "CANCELLED", "other");
  const ended = ({ series }: Scrape) => series.get(cancelled) === 1;
  const scraped = await scrapeUntil(metricsUrl, "the end of the stream", ended);
  expect(requestsIn(scraped)).toEqual({ [requests("grpc", "OK", "other")]: 1, [cancelled]: 1 });
  expect(scraped.value('plant_store_request_duration_seconds_count{protocol="grpc"}')).toBe(1);
});

function inFlight(scraped: Scrape): number {
  return scraped.value("plant_store_requests_in_flight");
}

test.each([
  ["HTTP/1.1", "1.1", false],
  ["HTTP/2 over TLS", "2", true],
] as const)("connections of %s are counted, with their bytes", async (_, version, isTls) => {
  if (isTls && !hasOpenssl) return;
  await using folder = await createTemporaryFolder();
  const tls = isTls ? createCertificate(folder.path, "a") : undefined;
  await using server = await openTestServer({ ...observed, tls });
  const body = newPlantJson({ id: 1n, name: "x".repeat(100_000) });
  const sent = { version, body, ...(tls && { ca: tls.pem }) };
  expect((await postPlant(server.url, sent)).status).toBe(200);
  const closed = (scraped: Scrape) => scraped.value("plant_store_connections") === 0;
  const { metricsUrl } = server.running;
  const scraped = await scrapeUntil(metricsUrl, "the end of the connection", closed);
  expect(scraped.value("plant_store_connections_opened_total")).toBe(1);
  for (const way of ["received", "sent"]) {
    const bytes = scraped.value(`plant_store_${way}_bytes_total`);
    expect(bytes, way).toBeGreaterThan(100_000);
    expect(bytes, way).toBeLessThan(110_000);
  }
});

const kinds = storeKinds.filter(({ isMissing }) => !isMissing);
test.each(kinds)("commits to $store are counted, and connections that are open", async (kind) => {
  await using place = await kind.open();
  await using server = await openTestServer({ ...observed, store: place.url });
  const session = await openSession(server.url);
  for (const id of [1n, 2n, 3n]) expect(await post(session, id)).toBe(200);
  const scraped = await scrape(server.running.metricsUrl);
  expect(scraped.value("plant_store_connections")).toBe(1);
  expect(scraped.value("plant_store_sent_bytes_total")).toBeGreaterThan(0);
  session.destroy();
  expect(scraped.value("plant_store_commit_duration_seconds_count")).toBe(3);
  expect(scraped.value("plant_store_commit_rows_sum")).toBe(3);
  expect(scraped.value("plant_store_commits_failed_total")).toBe(0);
  expect(requestsIn(scraped)).toEqual({ [requests("rest", "OK")]: 3 });
});

describe("the admin listener", () => {
  const server = useTestServer(observed);
  const without = useTestServer();

  test("is not there unless it is asked for", async () => {
    expect(without.running.metricsUrl).toBeUndefined();
    expect((await get(without.url, "/metrics")).status).toBe(404);
  });

  test("that finds its port taken leaves nothing open, and says which setting it is", async () => {
    const adminPort = Number(new URL(server.running.metricsUrl ?? "").port);
    const second = openTestServer({ adminPort });
    await expect(second).rejects.toMatchObject({ code: "EADDRINUSE", listener: "admin" });
  });

  test("outlives a drain", async () => {
    const { metricsUrl } = server.running;
    using lock = lockStore(server.database);
    const answer = post(await openSession(server.url), 1n);
    await scrapeUntil(metricsUrl, "the request", (scraped) => inFlight(scraped) === 1);
    const closed = server.close();
    // It takes connections no more once it drains.
    const asked = () => get(server.url, "/healthz").catch(() => "refused");
    await expect.poll(asked, { interval: 20 }).toBe("refused");
    const scraped = await scrape(metricsUrl);
    expect([inFlight(scraped), scraped.value("plant_store_ready")]).toEqual([1, 0]);
    lock.release();
    expect(await answer).toBe(200);
    await closed;
    await expect(fetch(metricsUrl ?? "")).rejects.toThrow();
  });
});
