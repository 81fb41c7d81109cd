/** The command before servers of REST, which know nothing of protobuf, of Connect and of gRPC-Web. */
import { readFile, writeFile } from "node:fs/promises";
import http, { type RequestListener } from "node:http";
import https from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { Code, createClient, type Transport } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import {
  connectNodeAdapter,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import express from "express";
import { describe, expect, test } from "vitest";
import { createCatalog } from "../../../gateway/test/catalog-server.ts";
import { failureOf } from "../../../gateway/test/client/fake-server.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { createCertificate, hasOpenssl } from "../../../gateway/test/support/certificate.ts";
import { collect } from "../../../gateway/test/support/collect.ts";
import { envelope } from "../../../gateway/test/support/envelope.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import { openModern } from "../../../gateway/test/support/mcp-client.ts";
import { useOpened } from "../../../gateway/test/support/use-opened.ts";
import { post, startCommand, until, useFolder } from "./command.ts";

const folder = useFolder(file_library_v1_catalog);

const start = (upstream: string, ...args: readonly string[]) =>
  folder.start("--upstream", upstream, "--descriptors", "services.binpb", ...args);

/** Ends at once, and may end twice. */
async function openServer(server: http.Server | https.Server) {
  const { port } = await listen(server);
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Goes no further: RFC 9110 sections 7.6.1 and 11.7. */
const ofConnection = { connection: "close, X-Hop", "x-hop": "1", "proxy-authenticate": "Basic" };
const switching = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: a\r\n\r\n";

/** As one writes it in JavaScript: numbers are numbers, and errors have a message. */
function bookshop(): RequestListener {
  const volumes = new Map<string, { name: string; id: number; title: string }>();
  const app = express();
  app.use(express.json());
  app.post("/api/v1/shelves/:shelf/volumes", (request, response) => {
    const { id, title } = request.body;
    const name = `shelves/${request.params.shelf}/volumes/${id}`;
    if (typeof id !== "number") return void response.status(422).json({ message: "no number" });
    volumes.set(name, { name, id, title });
    response.status(201).json(volumes.get(name));
  });
  app.get("/api/v1/shelves/:shelf/volumes", (request, response) => {
    const { pageSize, titles } = request.query;
    const all = [...volumes.values()].filter(
      ({ title }) => !titles || [titles].flat().includes(title),
    );
    response.set({ "x-asked": request.get("authorization"), ...ofConnection }).json({
      volumes: all.slice(0, Number(pageSize ?? 10)),
    });
  });
  app.get("/api/v1/shelves/:shelf/volumes\\:watch", (_request, response) => {
    response.type("application/x-ndjson");
    for (const volume of volumes.values()) response.write(`${JSON.stringify(volume)}\n`);
    response.end();
  });
  app.get("/api/v1/shelves/:shelf/volumes/:id", (request, response) => {
    const found = volumes.get(decodeURIComponent(request.path.slice("/api/v1/".length)));
    if (found === undefined)
      response.status(404).set(ofConnection).json({ error: "no such volume" });
    else response.json(found);
  });
  app.delete("/api/v1/shelves/:shelf/volumes/:id", (_request, response) => {
    response.status(204).end();
  });
  return app;
}

const transports: readonly (readonly [name: string, (baseUrl: string) => Transport])[] = [
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
  ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
];

describe("an Express server", () => {
  const upstream = useOpened(() => openServer(http.createServer(bookshop())));
  const server = useOpened(async () => {
    const url = `rest+http://127.0.0.1:${upstream.port}/api`;
    const args = ["--upstream", url, "--descriptors", "services.binpb", "--mcp"];
    const env = { CONNECT_GATEWAY_REST_INT64_NUMBERS: "on" };
    const started = await startCommand(args, folder.path, env);
    await started.ready();
    return started;
  });

  test.each(transports)("is called by %s", async (name, open) => {
    const client = createClient(CatalogService, open(server.origin));
    const parent = `shelves/${name}`;
    const volume = { id: 12n, title: `of ${name} & é/` };
    const created = await client.createVolume({ parent, volume });
    expect(created).toMatchObject({ ...volume, name: `${parent}/volumes/12` });
    expect(await client.getVolume({ name: created.name })).toEqual(created);
    let header = new Headers();
    const headers = { authorization: `Bearer of-${name}` };
    const options = { headers, onHeader: (all: Headers) => (header = all) };
    const request = { parent, pageSize: 1, titles: [volume.title] };
    const { volumes } = await client.listVolumes(request, options);
    expect(volumes).toEqual([created]);
    expect(header.get("x-asked")).toBe(`Bearer of-${name}`);
    expect(await collect(client.watchVolumes({ parent }))).toContainEqual(created);
    await client.deleteVolume({ name: created.name });
    const error = await failureOf(client.getVolume({ name: "shelves/a/volumes/none" }));
    expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "no such volume"]);
    const names = [...header.keys(), ...error.metadata.keys()];
    expect(names.filter((one) => /x-hop|^proxy-/.test(one))).toEqual([]);
  });

  test("is called by REST and by a model", async () => {
    const response = await post(`${server.origin}/v1/shelves/a/volumes`, '{"id":"9","title":"x"}');
    expect(await response.json()).toEqual({ name: "shelves/a/volumes/9", id: 9, title: "x" });
    const large = JSON.stringify({ id: "9", title: "x".repeat(100 * 1024) }); // to Express
    expect(await post(response.url, large)).toMatchObject({ status: 413 });
    await using client = await openModern(`${server.origin}/mcp`);
    const tools = await client.listTools();
    const { name = "" } = tools.find((one) => /get_?volume$/i.test(one.name)) ?? {};
    const { structuredContent } = await client.call(name, { name: "shelves/a/volumes/9" });
    expect(structuredContent).toMatchObject({ title: "x" });
  });
});

test.each(["connect", "grpc-web"])("a server of %s", async (protocol) => {
  const serve = connectNodeAdapter({
    routes: (router) => void router.service(CatalogService, createCatalog()),
    grpc: false,
  });
  let answer: RequestListener = serve;
  await using upstream = await openServer(
    http.createServer((request, response) => answer(request, response)),
  );
  const url = `${protocol}+http://127.0.0.1:${upstream.port}`;
  await using server = await start(url, "--request-metadata", "x-bin");
  await server.ready();
  const client = createClient(CatalogService, createGrpcTransport({ baseUrl: server.origin }));
  const volume = { id: 2n ** 62n, title: "x" };
  async function* requests() {
    for (const title of ["x", "y"]) yield { parent: "shelves/a", volume: { ...volume, title } };
  }
  expect((await client.importVolumes(requests())).count).toBe(2n);
  const seen = await collect(client.watchVolumes({ parent: "shelves/a" }));
  expect(seen).toMatchObject([{ title: "y" }]);
  const error = await failureOf(client.getVolume({ id: 3n }));
  expect([error.code, error.rawMessage]).toEqual([Code.NotFound, "there is no volume 3"]);
  const headers = { "connect-timeout-ms": "100000000" }; // longer than gRPC can say
  expect((await fetch(`${server.origin}/v1/volumes/3`, { headers })).status).toBe(404);
  for (const [text, code, message] of [
    [switching, Code.Unknown, "HTTP 101"],
    ["SSH-2.0", Code.Internal, "the upstream's response cannot be read: Parse Error"],
  ] as const) {
    answer = ({ socket }) => socket.write(text);
    const odd = await failureOf(client.getVolume({ id: 3n }));
    expect(odd).toMatchObject({ code, rawMessage: expect.stringContaining(message) });
  }
  const [type, coding] =
    protocol === "connect" ? ["proto", "content-encoding"] : ["grpc-web+proto", "grpc-encoding"];
  const head = { "content-type": `application/${type}`, [coding]: "gzip" };
  answer = (_request, response) => void response.writeHead(200, head).end(envelope("no gzip", 1));
  expect((await failureOf(client.getVolume({ id: 3n }))).code).toBe(Code.Internal);
  const cut = { "content-type": `application/${protocol}+proto` };
  answer = (_request, response) => void response.writeHead(200, cut).end("\0");
  expect((await failureOf(collect(client.watchVolumes({})))).code).toBe(Code.Internal);
  let bytes: unknown;
  for (const length of [60_000, 70_000]) {
    answer = (request, response) => {
      bytes = request.headersDistinct["x-bin"];
      response.setHeader("x-wide", "x".repeat(length));
      serve(request, response);
    };
    const code = length > 65_536 ? Code.ResourceExhausted : Code.NotFound;
    const call = client.getVolume({ id: 3n }, { headers: { "x-bin": "AA, AQ" } });
    expect((await failureOf(call)).code).toBe(code);
  }
  expect(bytes).toEqual(["AA", "AQ"]);
  const html = { "content-type": "text/html", "set-cookie": "a=b", "transfer-encoding": "chunked" };
  answer = (_request, response) => void response.writeHead(403, html).end("<h1>No</h1>");
  const page = await fetch(`${server.origin}/v1/volumes/3`);
  expect([page.status, page.headers.get("set-cookie")]).toEqual([403, null]);
  expect(await page.json()).toMatchObject({ message: "HTTP 403" });
  answer = ({ socket }) => socket.destroy(); // then nobody listens
  for (const end of [() => {}, () => upstream[Symbol.asyncDispose]()]) {
    await end();
    const away = await failureOf(client.getVolume({ id: 3n }));
    expect([away.code, away.rawMessage]).toEqual([Code.Unavailable, "the upstream is away"]);
  }
  await until(503, `${server.origin}/readyz`);
});

describe("faults of a REST server", () => {
  let answer: RequestListener = () => {};
  let calls = 0;
  let head = 200;
  const listener: RequestListener = (request, response) => {
    if (request.method !== "HEAD") {
      calls++;
      answer(request, response);
    } else if (head === 101) request.socket.write(switching);
    else response.writeHead(head, { connection: "close" }).end();
  };
  const upstream = useOpened(() => openServer(http.createServer(listener)));
  const server = useOpened(() => start(`rest+http://127.0.0.1:${upstream.port}`));

  const json = { "content-type": "application/json" };
  const gzip = { ...json, "content-encoding": "gzip" };
  const wide = (length: number) => ({ ...json, "x-wide": "x".repeat(length) });
  const page = "<html><h1>Bad Gateway</h1>";

  const html = { "content-type": "text/html", "set-cookie": "a=b" };
  const says =
    (status: number, headers: http.OutgoingHttpHeaders, body = ""): RequestListener =>
    (_, response) =>
      void response.writeHead(status, headers).end(body);
  /** What begins, and goes on as it is told. */
  const begins =
    (headers: http.OutgoingHttpHeaders, body: string, andEnds: boolean): RequestListener =>
    (_, response) =>
      void response
        .writeHead(200, { ...json, ...headers })
        .write(body, () => andEnds && response.destroy());
  /** Without a length, the end of the connection is that of the body. */
  const resets: RequestListener = ({ socket }) => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n";
    socket.write(`${head}{"id":1}`, () => socket.resetAndDestroy());
  };
  const writes =
    (headers: string, tail = ""): RequestListener =>
    ({ socket }) =>
      socket.write(`HTTP/1.1 200 OK\r\n${headers}content-length: 8\r\n\r\n{"id":1}${tail}`);
  const { Internal, ResourceExhausted, Unavailable, Unknown } = Code;
  const large = `{"title":"${"x".repeat(10 << 20)}"}`;
  const away = [Unavailable, "the upstream is away"] as const;

  test.each<[string, RequestListener, Code, string]>([
    ["a cut", ({ socket }) => socket.destroy(), ...away],
    ["a head that is cut", ({ socket }) => socket.end("HTTP/1.1 200 OK\r\nx"), ...away],
    ["a body that is cut", begins({ "content-length": 99 }, '{"id":1}', true), ...away],
    ["a body that is reset", resets, ...away],
    ["HTML with 502", says(502, html, page), Unavailable, `HTTP 502: ${page}`],
    ["a slow body", begins({}, "{", false), Code.DeadlineExceeded, ""],
    ["10 MiB", says(200, json, large), ResourceExhausted, "the upstream's response is too large"],
    ["70 kB of headers", says(200, wide(70_000)), ResourceExhausted, "response is too large"],
    ["a coding", says(200, gzip, "{}"), Unknown, "HTTP 200 in gzip, which was not asked for"],
    ["another protocol", ({ socket }) => socket.write(switching), Unknown, "HTTP 101"],
    ["a status that is none", says(999, json, "{}"), Unknown, "HTTP 999"],
    ["two lengths", writes("transfer-encoding: chunked\r\n"), Internal, "cannot be read: Parse"],
    ["a redirect", says(307, { location: "/x/" }), Unknown, "HTTP 307, to /x/"],
  ])("%s", async (_what, listener, code, message) => {
    answer = listener;
    calls = 0;
    const timeoutMs = code === Code.DeadlineExceeded ? 3000 : 20_000;
    const byRpc = transports.map(async ([name, open]) => {
      const client = createClient(CatalogService, open(server.origin));
      let header = new Headers();
      const options = { timeoutMs, onHeader: (all: Headers) => (header = all) };
      const error = await failureOf(client.getVolume({ id: 1n }, options));
      expect([name, error.code]).toEqual([name, code]);
      expect(error.rawMessage).toContain(message);
      expect([...error.metadata, ...header].join()).not.toContain("a=b");
    });
    const headers = { "connect-timeout-ms": `${timeoutMs}` };
    const byRest = fetch(`${server.origin}/v1/volumes/1`, { headers });
    const [response] = await Promise.all([byRest, ...byRpc]);
    expect(response.status).toBe(code === Code.ResourceExhausted ? 500 : response.status);
    expect(response.status).toBeGreaterThanOrEqual(500);
    expect(response.headers.get("set-cookie")).toBe(null);
    expect(calls).toBe(1 + transports.length);
  });

  test("a GET that kept connections lose is sent once more, a create is not", async () => {
    const used = new Set<unknown>();
    const three = Promise.withResolvers<void>();
    let isOpen = true;
    answer = (request, response) => {
      if (used.has(request.socket) || !isOpen) return void request.socket.destroy();
      if (used.add(request.socket).size === 3) three.resolve();
      void three.promise.then(() => says(200, json, '{"id":1}')(request, response));
    };
    const get = async () => (await fetch(`${server.origin}/v1/volumes/1`)).status;
    await Promise.all([get(), get(), get()]);
    calls = 0;
    expect([await get(), calls]).toEqual([200, 2]);
    const created = await post(`${server.origin}/v1/shelves/a/volumes`, '{"id":"1"}');
    expect([created.status, calls]).toEqual([503, 3]);
    await get();
    isOpen = false;
    expect([await get(), calls]).toEqual([503, 6]);
    let asked = 0;
    answer = (...call) => (asked++ === 0 ? says(200, json, "{}") : resets)(...call);
    expect([await get(), await get(), asked]).toEqual([200, 503, 2]);
  });

  test("what follows a whole response does not fail it", async () => {
    answer = writes("", "more");
    expect((await fetch(`${server.origin}/v1/volumes/1`)).status).toBe(200);
  });

  test("it is away if a proxy before it says so, not if it serves no HEAD", async () => {
    for (const [i, status] of [101, 500, 502, 500, 504, 405].entries()) {
      head = status;
      await until(i % 2 === 0 ? 503 : 200, `${server.origin}/readyz`);
    }
  });

  test("a client stream that cannot go on is an error, and harms nobody", async () => {
    answer = (request, response) => {
      request.resume();
      request.on("end", () => response.writeHead(200, wide(60_000)).end('{"count":"1"}'));
    };
    const client = createClient(CatalogService, createGrpcTransport({ baseUrl: server.origin }));
    async function* volumes(...parents: readonly string[]) {
      for (const parent of parents) yield { parent, volume: { id: 1n } };
    }
    const error = await failureOf(client.importVolumes(volumes("shelves/a", "shelves/b")));
    expect(error.code).toBe(Code.InvalidArgument);
    expect((await client.importVolumes(volumes("shelves/a", "shelves/a"))).count).toBe(1n);
  });
});

test("by each verb, a body has a length or is chunked, and no coding is accepted", async () => {
  const verbs = ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"];
  const ruleOf = (method: string, field: string, body: string) => {
    const bindings = verbs.map((kind) => {
      return { custom: { kind, path: `/${method}/{${field}=${kind}/*}` }, body };
    });
    const selector = `${CatalogService.typeName}.${method}`;
    return { selector, ...bindings[0], additional_bindings: bindings.slice(1) };
  };
  const rules = [
    ruleOf("UploadVolume", "name", "content"),
    ruleOf("CreateVolume", "parent", "volume"),
    ruleOf("ImportVolumes", "parent", "volume"),
  ];
  await writeFile(join(folder.path, "verbs.yaml"), JSON.stringify({ http: { rules } }));
  const seen: unknown[] = [];
  await using upstream = await openServer(
    http.createServer(async (request, response) => {
      const { method, headers } = request;
      const framing = headers["content-length"] ?? headers["transfer-encoding"];
      const coding = headers["accept-encoding"];
      if (method !== "HEAD") seen.push([method, coding, framing, await text(request)]);
      response.setHeader("content-type", "application/json").end("{}");
    }),
  );
  const url = `rest+http://127.0.0.1:${upstream.port}`;
  await using server = await start(url, "--rules", "verbs.yaml");
  const client = createClient(CatalogService, createGrpcTransport({ baseUrl: server.origin }));
  const volume = { title: "é" };
  const json = JSON.stringify(volume);
  for (const verb of verbs) {
    const parent = `${verb}/a`;
    seen.length = 0;
    await client.uploadVolume({ name: parent, content: { data: Buffer.from("é") } });
    await client.createVolume({ parent, volume });
    await client.importVolumes(createAsyncIterable([{ parent, volume }]));
    expect(seen).toEqual([
      [verb, "identity", "2", "é"],
      [verb, "identity", "14", json],
      [verb, "identity", "chunked", `${json}\n`],
    ]);
  }
});

test.runIf(hasOpenssl)("TLS with a CA and a certificate of the client", async () => {
  const root = createCertificate(folder.path, "root");
  const ca = createCertificate(folder.path, "ca", { ca: root, isCa: true });
  const own = createCertificate(folder.path, "localhost", { ca });
  const next = createCertificate(folder.path, "next");
  const options = {
    ...{ key: await readFile(own.keyFile), cert: own.pem, ca: [root.pem, ca.pem] },
    ...{ requestCert: true, rejectUnauthorized: true },
  };
  const names: unknown[] = [];
  const listener: RequestListener = ({ socket, headers }, response) => {
    names.push([(socket as TLSSocket).servername, headers.host]);
    response.shouldKeepAlive = false;
    response.setHeader("content-type", "application/json").end("{}");
  };
  await using upstream = await openServer(https.createServer(options, listener));
  const { port } = upstream;
  const pair = ["--upstream-cert", own.certFile, "--upstream-key", own.keyFile];
  const statusAt = async (at: string) => (await fetch(`${at}/v1/shelves/a/volumes`)).status;
  const named = ["--upstream-server-name", "localhost."];
  for (const [host, args, ...seen] of [
    ["127.0.0.1", [...named, ...pair], "localhost", `127.0.0.1:${port}`],
    ["localhost", ["--upstream-authority", "a.example", ...pair], "localhost", "a.example"],
  ] as const) {
    const url = `rest+https://${host}:${port}`;
    await using server = await start(url, "--upstream-ca", ca.certFile, ...args);
    names.length = 0;
    expect(await statusAt(server.origin)).toBe(200);
    expect(names[0]).toEqual(seen);
    // A connection that resumed a session would not meet the next CA.
    await writeFile(ca.certFile, next.pem);
    expect(await statusAt(server.origin)).toBe(503);
    await writeFile(ca.certFile, ca.pem);
  }
  await using mute = await listen(createServer((socket) => void socket.resume()));
  await using hanging = await start(`rest+https://127.0.0.1:${mute.port}`);
  expect(await statusAt(hanging.origin)).toBe(503);
  for (const protocol of ["rest", "connect", "grpc-web"]) {
    const url = `${protocol}+https://127.0.0.1:${port}`;
    const args = ["--upstream-ca", ca.certFile, "--upstream-server-name", "other.example", ...pair];
    await using server = await start(url, ...args);
    const faults = { "does not match": ca.pem, "must be trusted": next.pem };
    for (const [reason, trusted] of Object.entries(faults)) {
      await writeFile(ca.certFile, trusted);
      const told = new RegExp(`${reason}.*CatalogService/ListVolumes failed`);
      // There is at most one line a second.
      await expect
        .poll(async () => [await statusAt(server.origin), server.errors()], { interval: 100 })
        .toEqual([503, expect.stringMatching(told)]);
    }
  }
});

test("--check tells how each method is called, and what has no reflection", async () => {
  const url = "https://api.example.com/base";
  const check = (protocol: string, ...args: readonly string[]) =>
    folder.run("--check", "--upstream", `${protocol}+${url}`, ...args);
  const described = ["--descriptors", "services.binpb"];
  expect((await check("rest", ...described)).stdout).toContain(
    `  GetVolume                unary          calls GET ${url}/v1/{name=shelves/*/volumes/*}, or GET ${url}/v1/volumes/{id}\n`,
  );
  expect((await check("connect", ...described)).stdout).toContain(
    `  GetVolume                unary          calls POST ${url}/library.v1.CatalogService/GetVolume\n`,
  );
  for (const protocol of ["grpc-web", "library.v1.CatalogService=rest"]) {
    const { stderr, exitCode } = await check(protocol, "--reflection");
    expect(stderr).toContain("--reflection: is of gRPC upstreams alone");
    expect(exitCode).toBe(2);
  }
});
