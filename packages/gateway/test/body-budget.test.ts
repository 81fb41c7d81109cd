/** The budget of all bodies under way, on every protocol and each way to send a body. */
import http from "node:http";
import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { BodyBudget, Holding } from "../src/http/body-budget.ts";
import { versions } from "./support/catalog.ts";
import { openFields } from "./support/echo.ts";
import { envelope } from "./support/envelope.ts";
import type { HttpVersion } from "./support/exchange.ts";
import { isByFetch, type SentRequest } from "./support/gateway.ts";
import { type JsonWay, jsonWays } from "./support/json-ways.ts";
import { patienceMs } from "./support/within.ts";

const KiB = 1024;
const bytesMax = 1024 * KiB;
const large = JSON.stringify({ string: "x".repeat(300 * KiB) });

interface Door {
  readonly name: string;
  readonly way: JsonWay;
  readonly request: SentRequest;
}

function doorsOf(way: JsonWay): Door[] {
  const plain = way.request(large);
  const isEnveloped = Buffer.isBuffer(plain.body);
  const coding = isEnveloped
    ? { "grpc-encoding": "gzip", "connect-content-encoding": "gzip" }
    : { "content-encoding": "gzip" };
  const packed = {
    ...plain,
    headers: { ...plain.headers, ...coding },
    body: isEnveloped ? envelope(gzipSync(large), 1) : gzipSync(large),
  };
  const over: readonly HttpVersion[] = /^gRPC,|Exchange/.test(way.name) ? ["2"] : versions;
  return over.flatMap((version) => [
    { name: `${way.name}, HTTP/${version}`, way, request: { ...plain, version } },
    { name: `${way.name}, HTTP/${version}, gzip`, way, request: { ...packed, version } },
  ]);
}

const doors = jsonWays
  .filter(({ name }) => !/GET/.test(name) && !(isByFetch && /^gRPC,/.test(name)))
  .flatMap(doorsOf);

const openEcho = (bodyBudget: BodyBudget) =>
  openFields(undefined, { bodyBudget, readMaxBytes: 400 * KiB });

/** An older body of the same address. */
function holdFor(budget: BodyBudget, bytes: number): Holding {
  const holding = new Holding(budget, { peerAddress: "127.0.0.1", headers: {} });
  void holding.add(bytes);
  return holding;
}

const often = { timeout: patienceMs, interval: 5 };
const untilWaiting = (budget: BodyBudget) => vi.waitUntil(() => budget.waiting > 0, often);
const untilFree = (budget: BodyBudget) => vi.waitUntil(() => budget.heldBytes === 0, often);

describe.each(doors)("$name:", ({ way, request }) => {
  test("a body that finds no room waits until there is, and is served", async () => {
    const budget = new BodyBudget({ bytesMax });
    await using gateway = await openEcho(budget);
    const older = holdFor(budget, 500 * KiB);
    const answer = gateway.send(request);
    await untilWaiting(budget);
    older.release();
    expect(way.codeOf(await answer)).toBeUndefined();
    await untilFree(budget);
  });

  test("a body that cannot wait is refused, and may be sent again", async () => {
    const budget = new BodyBudget({ bytesMax });
    await using gateway = await openEcho(budget);
    const older = holdFor(budget, 0.87 * bytesMax);
    const response = await gateway.send(request);
    expect([way.codeOf(response), budget.refusals]).toEqual([Code.Unavailable, 1]);
    const { headers, trailers, body } = response;
    const retryAfter = headers.get("retry-after") ?? trailers.get("retry-after");
    expect(retryAfter ?? /retry-after"?: ?(\["1"\]|1)/.exec(`${body}`)?.[0]).toBeTruthy();
    if (way.name === "REST") expect(response.status).toBe(503);
    older.release();
    await untilFree(budget);
    expect(way.codeOf(await gateway.send(request))).toBeUndefined();
  });
});

test.each(doors.filter(({ name }) => /^REST, HTTP.[12.]+$/.test(name)))(
  "a body that waits for too long is refused: $name",
  async ({ way, request }) => {
    const budget = new BodyBudget({ bytesMax });
    await using gateway = await openEcho(budget);
    const older = holdFor(budget, 500 * KiB);
    const answer = gateway.send(request);
    await untilWaiting(budget);
    expect(way.codeOf(await answer)).toBe(Code.Unavailable);
    older.release();
    await untilFree(budget);
  },
);

/** Sends the headers of requests, and nothing of their bodies. Tells the status of each answer. */
const openers: Readonly<
  Record<HttpVersion, (origin: string, tell: (status: number) => void) => Opened>
> = {
  "1.1": (origin, tell) => {
    const agent = new http.Agent();
    return {
      request(path, headers) {
        const request = http.request(origin + path, { method: "POST", headers, agent });
        request.on("response", ({ statusCode = 0 }) => tell(statusCode));
        request.on("error", () => {});
        request.flushHeaders();
      },
      close: () => agent.destroy(),
    };
  },
  "2": (origin, tell) => {
    const session = http2.connect(origin);
    return {
      request(path, headers) {
        const stream = session.request({ ":method": "POST", ":path": path, ...headers });
        stream.on("response", ({ ":status": status = 0 }) => tell(status));
        stream.on("error", () => {});
      },
      close: () => session.destroy(),
    };
  },
};

interface Opened {
  request(path: string, headers: Readonly<Record<string, string>>): void;
  close(): void;
}

test.each(versions)("requests whose bodies hang take a share alone, HTTP/%s", async (version) => {
  const budget = new BodyBudget({ bytesMax: 256 * KiB });
  await using gateway = await openEcho(budget);
  const [rest] = doors.filter(({ name }) => name === "REST, HTTP/1.1");
  const { path, headers = {} } = rest?.request ?? expect.unreachable();
  const statuses: number[] = [];
  const client = openers[version](gateway.origin(version), (status) => statuses.push(status));
  for (let opened = 0; opened < 60; opened++) client.request(path, headers);
  await vi.waitFor(() => expect(statuses.length).toBeGreaterThan(30), patienceMs);
  expect(new Set(statuses)).toEqual(new Set([503]));
  expect(budget.heldBytes).toBeGreaterThan(100 * KiB);
  expect(budget.heldBytes).toBeLessThan(256 * KiB);
  client.close();
  await untilFree(budget);
});

test.each(versions)("a request without a body needs no room, HTTP/%s", async (version) => {
  const budget = new BodyBudget({ bytesMax });
  await using gateway = await openFields(undefined, {
    rest: { rules: [{ selector, pattern: { case: "get", value: "/v1/empty" } }] },
    bodyBudget: budget,
  });
  const older = holdFor(budget, 0.87 * bytesMax);
  const answer = await gateway.send({ version, path: "/v1/empty", method: "GET" });
  expect(answer.status).toBe(200);
  older.release();
});

test("a message of a stream holds what it does until the next, and waits for room", async () => {
  const pattern = { case: "post", value: "/v1/all" } as const;
  const rules = [{ selector: "library.v1.FieldService.Collect", pattern, body: "*" }];
  const bodyBudget = new BodyBudget({ bytesMax });
  await using gateway = await openFields(undefined, { rest: { rules }, bodyBudget });
  const line = `${JSON.stringify({ int32List: Array(2000).fill(1) })}\n`;
  const body = line.repeat(20);
  const headers = { "content-type": "application/x-ndjson" };
  const sent = { method: "POST", path: pattern.value, headers, body };
  expect(await gateway.send(sent)).toMatchObject({ status: 200 });
  const rpc = {
    path: "/library.v1.FieldService/Collect",
    headers: { "content-type": "application/connect+json" },
    body: Buffer.concat(Array(20).fill(envelope(line))),
  };
  expect(`${(await gateway.send(rpc)).body}`).not.toContain("error");
  const older = holdFor(bodyBudget, 500 * KiB);
  const waiting = gateway.send({ ...sent, body: large });
  await untilWaiting(bodyBudget);
  older.release();
  expect(await waiting).toMatchObject({ status: 200 });
});

const selector = "library.v1.FieldService.Echo";
