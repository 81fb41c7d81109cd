/** One line a request, on every protocol, with who called and nothing of what was sent. */
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import type { AccessEntry } from "connect-gateway/logging";
import { describe, expect, test } from "vitest";
import { exchange } from "../../packages/gateway/test/support/exchange.ts";
import { hasIpv6 } from "../../packages/gateway/test/support/has-ipv6.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { basil, plantHeaders as headers } from "../support/plant-request.ts";
import { createPlantPath, newPlantJson } from "../support/protocol/message.ts";
import { labelOf, protocols } from "../support/protocol/protocols.ts";
import { useOpened } from "../support/use-test-server.ts";

const traceId = "0af7651916cd43dd8448eb211c80319c";

const logged = ["--access-log", "on"];

type Line = AccessEntry & { readonly msg: string };

/** The lines of a server from now on, which has answered what they are about. */
function watchLines({ stderr, url }: ChildServer) {
  const begin = stderr.text.length;
  return async (msg: "request" | "refused"): Promise<Line[]> => {
    const id = randomUUID();
    const end = { origin: url, version: "1.1", path: "/end" } as const;
    await exchange({ ...end, headers: { "x-request-id": id } });
    await stderr.until(new RegExp(`.*"${id}".*\\n`));
    const lines = stderr.text.slice(begin).trimEnd().split("\n");
    const parsed = lines.map((line): Line => JSON.parse(line));
    return parsed.filter((line) => line.msg === msg && line.path !== end.path);
  };
}

const server = useOpened(() => spawnServer({ args: logged }));
const hasty = useOpened(() => spawnServer({ args: [...logged, "--request-timeout-ms", "1000"] }));

test.skipIf(!hasIpv6)("an address of IPv4 is told as such on a socket for both", async () => {
  await using both = await spawnServer({ args: [...logged, "--host", "::"] });
  const readLines = watchLines(both);
  const call = { origin: `http://127.0.0.1:${both.port}`, version: "2", path: "/plants" } as const;
  await exchange({ ...call, headers });
  await exchange({ ...call, headers: { ...headers, "x-long": "a".repeat(20_000) } });
  const lines = [...(await readLines("request")), ...(await readLines("refused"))];
  expect(lines.map(({ peer }) => peer)).toEqual(["127.0.0.1", "127.0.0.1"]);
});

test("tells of every protocol's calls: what was called, by whom, and what came of it", async () => {
  const readLines = watchLines(server);
  for (const protocol of protocols) {
    using caller = protocol.open(server.url);
    await caller.create({ id: 1n, name: "Basil" });
    await caller.create({ id: 1n, name: "Mint" });
    await caller.create({ id: 1n, name: "Basil" }, { authorization: "Bearer nobody-knows-this" });
  }
  const entries = await readLines("request");
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
  const send = (path: string, more: Record<string, string>, body = "") =>
    exchange({ origin: server.url, version, path, headers: { ...headers, ...more }, body });

  test("what is refused before it is a call has a line, with its reason", async () => {
    const readLines = watchLines(server);
    const answer = await send("/plants", { "x-long": "secret".repeat(3500) });
    const [line, ...others] = await readLines("refused");
    expect(others).toEqual([]);
    expect(line).toEqual({
      ...{ level: "info", time: expect.any(String), msg: "refused", peer: "127.0.0.1" },
      ...{ code: "RESOURCE_EXHAUSTED", status: answer.status },
      reason: JSON.parse(answer.body.toString()).message,
    });
    expect(await readLines("request")).toEqual([]);
    expect(server.stderr.text).not.toContain("secret");
  });

  test("a request that comes too slowly has one line, with the answer that it got", async () => {
    const readLines = watchLines(hasty);
    const slow = { origin: hasty.url, version, path: "/plants", headers, body: "{" };
    await exchange({ ...slow, unfinished: true }).catch(() => {}); // Node's client may see a reset
    const reason = "the request took too long to arrive";
    const lines = [{ code: "DEADLINE_EXCEEDED", status: 408, reason, peer: "127.0.0.1" }];
    await expect.poll(() => readLines("request")).toMatchObject(lines);
    expect(await readLines("refused")).toEqual([]);
  });

  test("the answer has the request's id, and its line that of the trace", async () => {
    const readLines = watchLines(server);
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
    const entries = await readLines("request");
    expect(entries.map(({ requestId }) => requestId)).toEqual(ids);
    expect(entries.map(({ status }) => status)).toEqual([200, 401, 200, 404]);
    expect(entries.map((entry) => entry.traceId)).toEqual([traceId, ...Array(3).fill(undefined)]);
    expect(entries.at(-1)).toMatchObject({ code: "NOT_FOUND", path: "/strange/path" });
  });
});

/** The head of a request over HTTP/1.1 on a connection of its own. */
function begin(contentLength: number) {
  const socket = connect(server.port, "127.0.0.1");
  const fields = { ...headers, host: "localhost", "content-length": contentLength };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`POST /plants HTTP/1.1\r\n${lines.join("")}\r\n`);
  return socket;
}

test("a client that leaves amid its body was cancelled, and got no status", async () => {
  const readLines = watchLines(server);
  begin(50).end('{"id"');
  await server.stderr.until(/"CANCELLED".*\n/);
  const [entry] = await readLines("request");
  expect(entry).toMatchObject({ code: "CANCELLED", reason: "the client has left" });
  expect(entry).not.toHaveProperty("status");
  expect(await readLines("refused")).toEqual([]);
});

test("a rejection behind a request under way has a line without a status", async () => {
  const readLines = watchLines(server);
  const socket = begin(basil.length);
  socket.write(`${basil}no HTTP at all\r\n\r\n`);
  const answer = await within("the answer", text(socket));
  expect(answer.match(/^HTTP\/1\.1 .*/gm)).toEqual(["HTTP/1.1 200 OK"]);
  const [line, ...others] = await readLines("refused");
  expect(others).toEqual([]);
  expect(line).not.toHaveProperty("status");
  expect(await readLines("request")).toMatchObject([{ code: "OK", status: 200 }]);
});
