/** One line a request, on every protocol, with who called and nothing of what was sent. */

import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { AccessEntry } from "connect-gateway/logging";
import { beforeAll, describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/http-exchange.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { plantHeaders as headers, postPlant } from "../support/plant-request.ts";
import { createPlantPath, newPlantJson } from "../support/protocol/message.ts";
import { labelOf, protocols } from "../support/protocol/protocols.ts";
import { scrape } from "../support/scrape.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";

const logged = ["--access-log", "on"];

/** The lines about requests of a server from now on, which has answered them. */
function watchEntries(server: ChildServer) {
  const begin = server.stderr.text.length;
  return async (): Promise<AccessEntry[]> => {
    const id = randomUUID();
    await exchange({
      ...{ origin: server.url, version: "1.1", path: "/end" },
      headers: { "x-request-id": id },
    });
    await server.stderr.until(new RegExp(`.*"${id}".*\\n`));
    const lines = server.stderr.text.slice(begin).trimEnd().split("\n");
    const entries: (AccessEntry & { msg: string })[] = lines.map((line) => JSON.parse(line));
    return entries.filter(({ msg, requestId }) => msg === "request" && requestId !== id);
  };
}

let server: ChildServer;

beforeAll(async () => {
  server = await spawnServer({ args: logged });
  return () => server[Symbol.asyncDispose]();
}, 60_000);

test("tells of every protocol's calls: what was called, by whom, and what came of it", async () => {
  const readEntries = watchEntries(server);
  for (const protocol of protocols) {
    using caller = protocol.open(server.url);
    await caller.create({ id: 1n, name: "Basil" });
    await caller.create({ id: 1n, name: "Mint" });
    await caller.create({ id: 1n, name: "Basil" }, { authorization: "Bearer nobody-knows-this" });
  }
  const entries = await readEntries();
  const common = { method: "plantstore.v1.PlantService/CreatePlant", requestMethod: "POST" };
  expect(entries).toMatchObject(
    protocols.flatMap(({ name }) => {
      const call = { ...common, protocol: labelOf(name), peer: "127.0.0.1" };
      const known = { ...call, principal: "token:tokens#1" };
      return [
        { ...known, code: "OK" },
        { ...known, code: "ALREADY_EXISTS" },
        { ...call, code: "UNAUTHENTICATED" },
      ];
    }),
  );
  for (const entry of entries) expect(entry.durationMs).toBeGreaterThan(0);
  expect(entries.filter(({ principal }) => principal === undefined)).toHaveLength(protocols.length);
  expect(new Set(entries.map(({ requestId }) => requestId)).size).toBe(entries.length);
});

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test("what is refused before it is a call has a line, with its reason", async () => {
    await using own = await spawnServer({ args: logged });
    const readEntries = watchEntries(own);
    const long = { ...headers, "x-long": "secret".repeat(3500) };
    const answer = await exchange({
      ...{ origin: own.url, version, path: "/plants", headers: long },
    });
    const [line = ""] = await own.stderr.until(/.*"msg":"refused".*/);
    const { level, time, ...entry } = JSON.parse(line);
    expect(entry).toEqual({
      ...{ code: "RESOURCE_EXHAUSTED", status: answer.status, peer: "127.0.0.1" },
      ...{ reason: JSON.parse(answer.body.toString()).message, msg: "refused" },
    });
    expect(await readEntries()).toEqual([]);
    expect(own.stderr.text).not.toContain("secret");
  });

  test("a request that comes too slowly has one line, with the answer that it got", async () => {
    await using own = await spawnServer({ args: [...logged, "--request-timeout-ms", "300"] });
    const readEntries = watchEntries(own);
    const slow = { origin: own.url, version, path: "/plants", headers, body: "{" };
    await exchange({ ...slow, unfinished: true }).catch(() => {}); // Node's client may see a reset
    const reason = "the request took too long to arrive";
    await own.stderr.until(/.*"msg":"request".*/);
    expect(await readEntries()).toMatchObject([{ code: "DEADLINE_EXCEEDED", status: 408, reason }]);
    expect(own.stderr.text).not.toContain('"refused"');
  });

  test("the answer has the request's id, and its line that of the trace", async () => {
    const readEntries = watchEntries(server);
    const send = (path: string, more: Record<string, string>, body = "") =>
      exchange({ origin: server.url, version, path, headers: { ...headers, ...more }, body });
    const plant = newPlantJson({ id: 1n, name: "Basil" });
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    const answers = [
      await send("/plants", { "x-request-id": "from-a-proxy", traceparent }, plant),
      await send("/plants", { authorization: "", "x-request-id": "not let in" }, plant),
      await send(createPlantPath, { "x-request-id": "rpc" }, `{"plant":${plant}}`),
      await send("/strange/path?access_token=secret", { "x-request-id": "lost" }),
    ];
    const ids = answers.map((answer) => answer.headers.get("x-request-id"));
    expect(answers.map(({ status }) => status)).toEqual([200, 401, 200, 404]);
    expect(ids).toEqual(["from-a-proxy", expect.stringMatching(/^[\da-f-]{36}$/), "rpc", "lost"]);
    const entries = await readEntries();
    expect(entries.map(({ requestId }) => requestId)).toEqual(ids);
    expect(entries.map(({ status }) => status)).toEqual([200, 401, 200, 404]);
    expect(entries.map((entry) => entry.traceId)).toEqual([traceId, ...Array(3).fill(undefined)]);
    expect(entries.at(-1)).toMatchObject({ code: "NOT_FOUND", path: "/strange/path" });
  });

  test("nothing that was sent to be kept to ourselves is in the log", async () => {
    const readEntries = watchEntries(server);
    const body = newPlantJson({ id: 1n, name: "A stolen name" });
    for (const authorization of [headers.authorization, "Bearer stolen", "Basic stolen"]) {
      const path = "/plants?access_token=stolen";
      await exchange({
        origin: server.url,
        version,
        path,
        headers: { ...headers, authorization },
        body,
      });
    }
    expect(await readEntries()).toHaveLength(3);
    expect(server.stderr.text).not.toContain("stolen");
    expect(server.stderr.text).not.toContain(knownToken);
  });

  test("a line stays whole and short, whatever a stranger sends", async () => {
    const readEntries = watchEntries(server);
    const path = `/${"%22".repeat(1000)}`;
    await exchange({ origin: server.url, version, path, headers: { "x-request-id": path } });
    const [entry] = await readEntries();
    expect(entry).toMatchObject({ code: "NOT_FOUND", path: path.slice(0, 200) });
    expect(JSON.stringify(entry).length).toBeLessThan(1000);
  });
});

test("a client that leaves amid its body was cancelled, and got no status", async () => {
  const readEntries = watchEntries(server);
  const socket = connect(server.port, "127.0.0.1");
  const fields = Object.entries({ ...headers, host: "localhost", "content-length": 50 });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  socket.end(`POST /plants HTTP/1.1\r\n${head}\r\n{"id"`);
  await server.stderr.until(/"CANCELLED".*\n/);
  const [entry] = await readEntries();
  expect(entry).toMatchObject({ code: "CANCELLED", reason: "the client has left" });
  expect(entry).not.toHaveProperty("status");
  expect(server.stderr.text).not.toContain('"refused"');
});

test("a rejection behind a request under way has a line without a status", async () => {
  const readEntries = watchEntries(server);
  const socket = connect(server.port, "127.0.0.1");
  const body = newPlantJson({ id: 1n, name: "Basil" });
  const sent = { ...headers, host: "localhost", "content-length": body.length };
  const fields = Object.entries(sent).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /plants HTTP/1.1\r\n${fields.join("")}\r\n${body}no HTTP at all\r\n\r\n`);
  const answer = await within("the answer", text(socket));
  expect(answer.match(/^HTTP\/1\.1 .*/gm)).toEqual(["HTTP/1.1 200 OK"]);
  const [line = ""] = await server.stderr.until(/.*"msg":"refused".*/);
  expect(JSON.parse(line)).not.toHaveProperty("status");
  expect(await readEntries()).toMatchObject([{ code: "OK", status: 200 }]);
});

test("is off unless it is asked for: no line, no id in the answer", async () => {
  await using own = await spawnServer();
  const answer = await postPlant(own.url, { version: "2", headers: { "x-request-id": "a" } });
  expect(answer.status).toBe(200);
  expect(answer.headers.has("x-request-id")).toBe(false);
  own.process.kill("SIGTERM");
  await within("the end", own.exited);
  expect(own.stderr.text).not.toContain('"request"');
});

test("tells of what failed alone, on errors; every answer has an id", async () => {
  await using own = await spawnServer({ args: ["--access-log", "errors"] });
  const readEntries = watchEntries(own);
  const send = (path: string, more: Record<string, string> = {}) =>
    exchange({
      ...{ origin: own.url, version: "2", path },
      headers: { ...headers, ...more },
      body: newPlantJson({ id: 1n, name: "Basil" }),
    });
  const answers = [
    await send("/plants"),
    await send("/plants", { authorization: "Bearer nobody-knows-this" }),
    await send("/plants"),
    await send("/nowhere"),
    await send("/plants"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 200, 404, 200]);
  const ids = answers.map((answer) => answer.headers.get("x-request-id"));
  expect(await readEntries()).toMatchObject([
    { code: "UNAUTHENTICATED", requestId: ids[1] },
    { code: "NOT_FOUND", requestId: ids[3] },
  ]);
});

test("goes with metrics, and text is for people: one line, with names", async () => {
  const args = [...logged, "--admin-port", "0", "--log-format", "text"];
  await using own = await spawnServer({ args });
  const [, metricsUrl = ""] = /metrics +(\S+)/.exec(own.stdout.text) ?? [];
  await postPlant(own.url, { version: "2" });
  const { value } = await scrape(metricsUrl);
  const ok = 'plant_store_requests_total{method="CreatePlant",protocol="rest",code="OK"}';
  expect(value(ok)).toBe(1);
  const line =
    /^\S+Z info request method=plantstore\.v1\.PlantService\/CreatePlant protocol=rest code=OK status=200 durationMs=[\d.]+ principal=token:tokens#1 /m;
  await own.stderr.until(line);
});

test("a kind of access log that there is not stops the start", async () => {
  const opening = openTestServer({ accessLog: "some" });
  await expect(opening).rejects.toThrow("accessLog: must be on, errors or off");
});

test("a format that there is not stops the start", async () => {
  const opening = openTestServer({ logFormat: "xml" });
  await expect(opening).rejects.toThrow("logFormat: must be auto, json or text");
});
