import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createGzip } from "node:zlib";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import serverless from "serverless-http";
import { describe, expect, test } from "vitest";
import { BodyBudget, gatewayNodeAdapter, type NodeHandler } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { connectCalls, grpcWebCalls, restCalls } from "../runtimes/calls.ts";
import { big, get, send, versions } from "../support/catalog.ts";
import { exchange } from "../support/exchange.ts";
import { listen } from "../support/free-port.ts";
import { jsonOf, openHandler, type SentRequest } from "../support/gateway.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";
import { behindParsers, type Mount, mounts, routes } from "./mounts.ts";

async function open({ prefix, open: openServer }: Mount) {
  const errors: unknown[] = [];
  const server = await openServer((error) => errors.push(error));
  const { url: origin, [Symbol.asyncDispose]: close } = await listen(server);
  return {
    url: origin + prefix,
    errors,
    send: (request: SentRequest) => exchange({ origin, ...request, version: "1.1" }),
    [Symbol.asyncDispose]() {
      server.closeAllConnections();
      return close();
    },
  };
}

const createEmma = send("POST", "/v1/shelves/a/volumes", { id: big, title: "Emma" });

const protocols = { REST: restCalls, Connect: connectCalls, "gRPC-Web": grpcWebCalls };

describe.each(mounts)("$name:", (mount) => {
  const { prefix } = mount;

  test.each(Object.entries(protocols))("%s, and its streams", async (_protocol, calls) => {
    await using gateway = await open(mount);
    for (const call of calls) await call.run({ origin: gateway.url });
    expect(gateway.errors).toEqual([]);
  });

  test("a body that a method leaves early is no part of the next request", async () => {
    await using gateway = await open(mount);
    using connection = await openRawConnection(Number(new URL(gateway.url).port));
    const host = new URL(gateway.url).host;
    const body = `{"id":"no number"}\n${'{"id":1}\n'.repeat(40_000)}`;
    const headers = `host: ${host}\r\ncontent-type: application/x-ndjson\r\ncontent-length: ${body.length}`;
    connection.write(`POST ${prefix}/v1/shelves/a/volumes:import HTTP/1.1\r\n${headers}\r\n\r\n`);
    connection.write(body);
    connection.write(`GET ${prefix}/v1/volumes/1 HTTP/1.1\r\nhost: ${host}\r\n\r\n`);
    const received = await connection.until("two answers", (bytes) =>
      /HTTP\/1\.1 400.*HTTP\/1\.1 404/s.test(bytes.toString()),
    );
    expect(received.toString().match(/HTTP\/1\.1 /g)).toHaveLength(2);
  });
});

test.each(mounts.filter(({ hasBeside }) => hasBeside))(
  "$name: the rest of the server",
  async (mount) => {
    await using gateway = await open(mount);
    expect((await gateway.send(get("/beside"))).body.toString()).toBe("beside");
  },
);

test.each(behindParsers)("behind $name, the reason is for the operator", async (mount) => {
  await using gateway = await open(mount);
  const path = mount.prefix + createEmma.path;
  const response = await gateway.send({ ...createEmma, path });
  expect(response.status).toBe(500);
  expect(jsonOf(response)).toEqual({ code: 13, message: "internal error", details: [] });
  expect(gateway.errors).toMatchObject([{ name: "BodyAlreadyReadError" }]);
});

test("on AWS Lambda, bodies are given back, and a download that fails is an error", async () => {
  const bodyBudget = new BodyBudget();
  const catalog: Partial<ServiceImpl<typeof CatalogService>> = {
    createVolume: () => ({}),
    async *streamVolume() {
      yield { data: Buffer.from("Em") };
      throw new ConnectError("lost", Code.DataLoss);
    },
  };
  const own = (router: ConnectRouter) => router.service(CatalogService, catalog);
  const handler = gatewayNodeAdapter({ routes: own, bodyBudget });
  const call = serverless((request: IncomingMessage, response: ServerResponse) => {
    void handler(request, response);
    response.removeAllListeners("close"); // @codegenie/serverless-express emits none
  });
  const headers = { ...createEmma.headers, host: "a" };
  const event = { ...createEmma, httpMethod: "POST", headers, requestContext: {} };
  expect(await call(event, {})).toMatchObject({ statusCode: 200 });
  expect(bodyBudget.heldBytes).toBe(0);
  const download = { ...event, httpMethod: "GET", path: `${event.path}/1:stream`, body: "" };
  await expect(call(download, {})).rejects.toThrow("lost");
});

test("each message of a stream passes a middleware that compresses, as of Express and Next.js", async () => {
  const handler = gatewayNodeAdapter({
    routes: (router) =>
      router.service(CatalogService, {
        async *watchVolumes(_request, { signal }) {
          yield { title: "Emma" };
          await once(signal, "abort");
        },
      }),
  });
  const compress = createServer((request, response) => {
    const gzip = createGzip();
    response.setHeader("content-encoding", "gzip");
    const write = response.write.bind(response);
    gzip.on("data", (chunk) => write(chunk));
    const flush = () => gzip.flush();
    Object.assign(response, { write: gzip.write.bind(gzip), end: gzip.end.bind(gzip), flush });
    void handler(request, response);
  });
  await using gateway = await open({ ...mounts[0], open: () => compress } as Mount);
  const { body } = await fetch(`${gateway.url}/v1/shelves/a/volumes:watch`);
  const reader = body?.getReader();
  const message = await within("a message", Promise.resolve(reader?.read()));
  expect(Buffer.from(message?.value ?? []).toString()).toBe('{"title":"Emma"}\n');
  await reader?.cancel();
});

test.each(versions)("over HTTP/%s, Vary and cookies of others stay", async (version) => {
  const handler = gatewayNodeAdapter({
    routes: (router) =>
      router.service(CatalogService, {
        getVolume(_request, { responseHeader }) {
          responseHeader.append("vary", "x-shelf");
          responseHeader.append("set-cookie", "b=2");
          return {};
        },
      }),
  });
  await using gateway = await openHandler((request, response) => {
    response.setHeader("Vary", "origin");
    void handler(request, response);
    response.setHeader("Set-Cookie", "a=1"); // as a method may that has the response
  });
  const { headers } = await gateway.send({ version, ...get("/v1/volumes/1") });
  expect(headers.get("vary")).toBe("origin, x-shelf");
  expect(headers.getSetCookie()).toEqual(["a=1", "b=2"]);
});

function post(path: string, contentType: string, body = "{}"): SentRequest {
  return { method: "POST", path, headers: { "content-type": contentType }, body };
}

const importPath = "/v1/shelves/a/volumes:import";
const ndjson = "application/x-ndjson";
const message = /^the request body was read before the gateway: mount it /;
const reason = expect.objectContaining({ message: expect.stringMatching(message) });

describe.each(versions)("over HTTP/%s, a body that a parser consumed:", (version) => {
  test.each<[what: string, request: SentRequest, status: number, reported: unknown[]]>([
    ["REST", post("/v1/shelves/a/volumes", "application/json"), 500, [reason]],
    ["a stream of REST", post(importPath, ndjson), 500, [reason]],
    ["Connect", post("/library.v1.CatalogService/CreateVolume", "application/json"), 500, [reason]],
    ["a GET", get("/v1/shelves/a/volumes"), 200, []],
    ["a stream that is asked for by a GET", get("/v1/shelves/a/volumes:watch"), 200, []],
    ["an empty body", post(importPath, ndjson, ""), 200, []],
    ["a path where nothing is", send("POST", "/v1/nothing", {}), 404, []],
  ])("%s", async (_what, one, status, reported) => {
    const errors: unknown[] = [];
    const handler = gatewayNodeAdapter({ routes, onError: (error) => errors.push(error) });
    const parse: NodeHandler = (request, response) =>
      void request.on("data", () => {}).on("end", () => handler(request, response));
    await using gateway = await openHandler(parse);
    expect(await gateway.send({ version, ...one })).toMatchObject({ status });
    expect(errors).toEqual(reported);
  });
});
