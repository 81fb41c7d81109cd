/** The promises of `serve` beyond the port and the gateway. */
import { once } from "node:events";
import { readdirSync, renameSync, unwatchFile, watchFile, writeFileSync } from "node:fs";
import { get } from "node:http";
import http2 from "node:http2";
import { createServer, Server } from "node:net";
import { text } from "node:stream/consumers";
import { Code, ConnectError, type ConnectRouter, createConnectRouter } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openGrpcTransport } from "../../src/client/index.ts";
import { gatewayFetchHandler } from "../../src/fetch.ts";
import { addHealth, createHealthHandlers } from "../../src/health/index.ts";
import {
  gatewayNodeAdapter,
  type NodeHandler,
  type RenderError,
  RuleError,
} from "../../src/index.ts";
import { createAccessLog } from "../../src/logging/index.ts";
import { createTracingObserver } from "../../src/otel/tracing-observer.ts";
import { addReflection } from "../../src/reflection/index.ts";
import {
  type Refusal,
  type ServeOptions,
  type ServerLifetime,
  serve,
  TlsFilesError,
} from "../../src/server/index.ts";
import { CatalogService, VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { describeMethods } from "../support/described-method.ts";
import { envelope } from "../support/envelope.ts";
import { exchange, exchangeOn, type HttpVersion } from "../support/exchange.ts";
import { findFreePort, listen } from "../support/free-port.ts";
import { isListening } from "../support/is-listening.ts";
import { grpcProtocol } from "../support/open-client.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { openTestService } from "../support/test-service.ts";
import { createPath, createRequest, createRpcPath, volume } from "../support/volumes.ts";
import { within } from "../support/within.ts";

const versions: readonly HttpVersion[] = ["1.1", "2"];
const request = { parent: "shelves/a", volume: { id: 1n, title: "Emma" } };

/** A handler that answers with this text. */
const say =
  (text: string): NodeHandler =>
  (_request, response) =>
    void response.end(text);

const error = new Error("the page is gone");
const fail = () => {
  throw error;
};

describe.each(versions)("handlers, over HTTP/%s,", (version) => {
  test.each([
    ["/page", 200],
    ["/page?a=/b", 200],
    ["/page/", 404],
  ])("serve %s: %i, by their exact path", async (path, status) => {
    await using server = await openTestService({ handlers: () => new Map([["/page", say("a")]]) });
    const response = await exchange({ origin: server.origin, version, method: "GET", path });
    expect(response.status).toBe(status);
    if (status === 200) expect(response.body.toString()).toBe("a");
  });

  test.each([createPath, createRpcPath])("precede the services, at %s", async (path) => {
    await using server = await openTestService({ handlers: () => new Map([[path, say("a")]]) });
    const response = await exchange({ origin: server.origin, version, ...createRequest, path });
    expect(response.body.toString()).toBe("a");
    expect(server.created).toEqual([]);
  });

  test.each([
    ["GET", 200, "a"],
    ["OPTIONS", 204, ""],
  ])("are read by pages, whose preflights never reach them: %s", async (method, status, body) => {
    const [handlers, page] = [() => new Map([["/page", say("a")]]), "https://app.example"];
    await using server = await openTestService({ handlers, cors: { origins: [page] } });
    const headers = { origin: page, "access-control-request-method": "PUT" };
    const request = { origin: server.origin, version, method, path: "/page", headers };
    const response = await exchange(request);
    expect([response.status, response.body.toString()]).toEqual([status, body]);
    expect(response.headers.get("access-control-allow-origin")).toBe(page);
    const allowed = method === "GET" ? null : "PUT";
    expect(response.headers.get("access-control-allow-methods")).toBe(allowed);
  });

  test.each<[how: string, fail: NodeHandler]>([
    ["throws", fail],
    ["rejects", () => Promise.reject(error)],
  ])("are answered with 500 if one %s", async (_how, fail) => {
    const handlers = () => new Map([["/page", fail]]);
    await using server = await openTestService({ handlers, mayFail: true });
    const request = { origin: server.origin, version, method: "GET", path: "/page" };
    const response = await exchange(request);
    expect(response.status).toBe(500);
    expect(response.body.toString()).toContain("internal error");
    expect(server.errors).toEqual([error]);
  });
});

test("routes and handlers get the server's lifetime, which reports its drain", async () => {
  const lifetimes: ServerLifetime[] = [];
  await using server = await openTestService({
    routes: (_router, lifetime) => void lifetimes.push(lifetime),
    handlers(lifetime) {
      lifetimes.push(lifetime);
      return new Map();
    },
  });
  const [first, second] = lifetimes.map(({ draining }) => draining);
  expect(first).toBe(second);
  expect(first?.aborted).toBe(false);
  using closing = vi.spyOn(Server.prototype, "close"); // the port, first
  first?.addEventListener("abort", () => expect(closing).toHaveBeenCalledOnce());
  const drained = server.drain(0);
  expect(ConnectError.from(first?.reason).code).toBe(Code.Unavailable);
  await drained;
});

test.each([
  ["of 4 MiB is taken by default", 4 * 1024 * 1024, 200],
  ["of more than 4 MiB is refused by default", 4 * 1024 * 1024 + 1, 413],
])("a message %s", async (_what, bytes, status) => {
  await using server = await openTestService();
  const body = JSON.stringify({ title: "" }).padEnd(bytes);
  const request = { origin: server.origin, version: "2", ...createRequest, body } as const;
  expect((await exchange(request)).status).toBe(status);
});

test.each([500, 50_000])(
  "headers of more than %d bytes are rejected, shorter ones are not",
  async (headerBytesMax) => {
    await using server = await openTestService({ limits: { headerBytesMax } });
    const statusOf = async (bytes: number) => {
      const headers = { ...createRequest.headers, "x-long": "x".repeat(bytes) };
      const request = { origin: server.origin, version: "1.1", body: volume } as const;
      return (await exchange({ ...request, ...createRequest, headers })).status;
    };
    expect(await statusOf(headerBytesMax)).toBe(431);
    expect(await statusOf(headerBytesMax - 300)).toBe(200);
  },
);

test("over HTTP/2, each header field counts 32 bytes more than its text", async () => {
  await using server = await openTestService({ limits: { headerBytesMax: 1000 } });
  const session = http2.connect(server.origin);
  onTestFinished(() => session.destroy());
  const { host } = new URL(server.origin);
  const own = { ":authority": host, ":method": "POST", ":path": createPath, ":scheme": "http" };
  const statusOf = async (bytes: number, more: object) => {
    const headers = { ...own, ...createRequest.headers, ...more, "x-long": "" };
    const texts = Object.entries(headers).flat();
    headers["x-long"] = "x".repeat(bytes - texts.join("").length - 16 * texts.length);
    const answer = await exchangeOn(session, { ...createRequest, headers });
    return answer.headers.get("grpc-status") ?? answer.status;
  };
  for (const more of [{}, { expect: "100-continue" }]) {
    expect(await statusOf(1000, more)).toBe(200);
    expect(await statusOf(1001, more)).toBe(431);
  }
  expect(await statusOf(1001, { "content-type": "application/grpc" })).toBe("8");
  // The client has acknowledged the settings by now, so Node enforces its own limit.
  expect(await statusOf(4000, {})).toBe(431);
});

test.each(["1.1", "2"] as const)(
  "an unknown Expect is refused as its protocol says, over HTTP/%s",
  async (version) => {
    await using server = await openTestService();
    const answers = ["application/json", "application/proto", "application/grpc-web+proto"].map(
      async (type) => {
        const headers = { "content-type": type, expect: "a miracle" };
        const request = { origin: server.origin, version, ...createRequest, headers };
        const answer = await exchange({ ...request, path: createRpcPath, body: volume });
        return [answer.status, answer.headers.get("grpc-status")];
      },
    );
    expect(await Promise.all(answers)).toEqual([
      [417, null],
      [417, null],
      [200, "3"],
    ]);
  },
);

test("over HTTP/2, a tunnel is rejected, and told", async () => {
  const refused: string[] = [];
  const traffic = { refused: ({ kind }: Refusal) => void refused.push(kind) };
  await using server = await openTestService({ traffic });
  const session = http2.connect(server.origin);
  onTestFinished(() => session.destroy());
  const stream = session.request({ ":method": "CONNECT", ":authority": "a:1" });
  const [head] = await within("an answer", once(stream, "response"));
  expect([head[":status"], refused]).toEqual([405, ["tunnel"]]);
});

test.each<[options: object, message: string]>([
  [{ limits: { requestTimeoutMs: 0 } }, "limits.requestTimeoutMs must be a whole number"],
  [{ limits: { requestTimeoutMs: 2 ** 31 } }, "limits.requestTimeoutMs must be a whole number"],
  [{ limits: { connectionMax: 5 } }, "limits.connectionMax is no option; the options are header"],
  [{ tls: {} }, "tls.certFile is missing"],
  [{ tls: { certFile: "a", keyfile: "b" } }, "tls.keyfile is no option"],
  [
    { path: "/tmp/a", port: undefined, host: "::1" },
    "serve: give a port and its host, or a path and its socketMode",
  ],
  [{ socketMode: 0.5 }, "serve.socketMode must be a whole number"],
  [{ socketMode: 0o660 }, "serve: give a port and its host, or a path and its socketMode"],
])("startup fails for %o", async (options, message) => {
  await expect(serve({ port: 0, ...options, routes: () => {} })).rejects.toThrow(message);
});

const odd = { drainging: AbortSignal.abort() } as object;
const none = {} as never;

test.each<[message: string, give: () => unknown]>([
  ["addHealth.drainging is no option; the", () => addHealth(createConnectRouter(), odd)],
  ["addReflection.drainging is no option; the", () => addReflection(createConnectRouter(), odd)],
  ["createHealthHandlers.drainging is no option; the", () => createHealthHandlers(odd)],
  ["serve.routes is missing", () => serve(none)],
  ["gatewayNodeAdapter.routes is missing", () => gatewayNodeAdapter(none)],
  ["gatewayFetchHandler.routes is missing", () => gatewayFetchHandler(none)],
  ["openGrpcTransport.url is missing", () => openGrpcTransport(none)],
  ["createAccessLog.write is missing", () => createAccessLog(none)],
  ["createTracingObserver.tracer is missing", () => createTracingObserver(none)],
  [".url must be of http, https or unix: ftp://a", () => openGrpcTransport({ url: "ftp://a" })],
  [".quietMsMax must be a positive", () => openGrpcTransport({ url: "a:1", quietMsMax: 0 })],
  [".prefixes must be like /api: ", () => createHealthHandlers({ prefixes: ["api"] })],
])("an option that is wrong or missing is named: %s", async (message, give) => {
  await expect(async () => give()).rejects.toThrow(message);
});

test("omitted and undefined options have their defaults", async () => {
  // As from users who compile without exactOptionalPropertyTypes.
  const rest = { renderError: undefined, ignoreQueryParameters: undefined, etag: undefined };
  const limits = { headerBytesMax: 1000, requestTimeoutMs: undefined, idleTimeoutMs: undefined };
  await using server = await openTestService({ rest, limits } as unknown as ServeOptions);
  const session = http2.connect(server.origin);
  onTestFinished(() => session.destroy());
  const [settings] = await within("the settings", once(session, "remoteSettings"));
  expect(settings).toMatchObject({ maxConcurrentStreams: 256, maxHeaderListSize: 66_536 });
  const nothing = { origin: server.origin, version: "2", path: "/v1/nothing" } as const;
  expect(await exchange(nothing)).toMatchObject({ status: 404 });
});

const internal = /^HTTP\/1\.1 500 .*"internal error"/s;

// Vitest fails for an error that nobody handles, by which a stranger would end the process of a user.
test.each<[how: string, renderError: () => unknown, answer: RegExp]>([
  ["like other REST errors", () => ({ status: 499, body: "no" }), /^\S+ 499 (?!undef).*"no"$/s],
  [
    "without a body that its status cannot have",
    () => ({ status: 204, body: 1 }),
    /^[^{]* 204 (?!.*content-)/s,
  ],
  ["as an internal one if renderError fails", () => undefined, internal],
  ["as an internal one if renderError rejects", () => Promise.reject(), internal],
  ["as an internal one without a status", () => ({ status: 600 }), internal],
])("an error of the port, or of a handler, is rendered %s", async (_how, renderError, answer) => {
  const handlers = () => new Map([["/page", fail]]);
  const rest = { renderError: renderError as RenderError };
  const traffic = { opened: fail, refused: fail };
  await using server = await openTestService({ handlers, rest, traffic, mayFail: true });
  for (const start of ["", "GET /page HTTP/1.1\r\n", "GET / HTTP/1.1\r\nExpect: a\r\n"]) {
    using connection = await openRawConnection(server.port);
    connection.write(`${start}Host: a\r\nConnection: close\r\n\r\n`);
    expect((await connection.untilClosed()).toString()).toMatch(answer);
  }
});

test("without a host, it listens on all addresses", async () => {
  const server = await serve({ port: 0, routes: () => {} });
  expect(server.address.address).toMatch(/^(::|0\.0\.0\.0)$/);
  await server.drain(0);
});

test("the caller's shutdownSignal aborts calls, and nothing else", async () => {
  const shutdown = new AbortController();
  await using server = await openTestService({ shutdownSignal: shutdown.signal });
  using hold = server.hold();
  using caller = grpcProtocol.open(CatalogService, server.origin);
  const called = caller.client.createVolume(request);
  const refused = expect(called).rejects.toMatchObject({ code: Code.Aborted });
  await hold.untilBegun();
  shutdown.abort(new ConnectError("enough", Code.Aborted));
  await refused;
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
});

test.skipIf(process.platform === "win32")(
  "a Unix socket that a killed server left goes to one of two that start at once",
  async () => {
    await using folder = await createTemporaryFolder();
    onTestFinished(process.chdir.bind(process, process.cwd()));
    process.chdir(folder.path);
    const path = "7"; // its name while it is moved away, .PID, could be a port, too
    const open = (name: string) =>
      serve({ path, routes: () => {}, handlers: () => new Map([["/", say(name)]]) });
    for (let round = 0; round < 20; round++) {
      await leaveSocket(path);
      const names = ["first", "second"];
      const started = await Promise.allSettled(names.map(open));
      const won = started.findIndex(({ status }) => status === "fulfilled");
      expect(started[1 - won]).toMatchObject({ reason: { code: "EADDRINUSE" } });
      const [answer] = await once(get({ socketPath: path, agent: false }), "response");
      expect(await text(answer)).toBe(names[won]);
      if (started[won]?.status === "fulfilled") await started[won].value.drain(0);
      expect(readdirSync(folder.path)).toEqual([]);
    }
  },
);

/** Leaves a socket at which nobody listens. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer().listen(`./${path}`);
  await once(server, "listening");
  renameSync(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  renameSync(`${path}.kept`, path);
}

describe("a failed start", () => {
  const options: ServeOptions = { host: "127.0.0.1", port: 0, routes: () => {} };
  const inUse = { code: "EADDRINUSE" };

  test("because of a port in use is reported, and leaves no timer", async () => {
    await using taken = await openTestService(); // none of them shares its port by default
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    await expect(serve({ ...options, port: taken.port })).rejects.toMatchObject(inUse);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.skipIf(!hasOpenssl)("because of a port in use watches no TLS files", async () => {
    await using taken = await listen(createServer());
    await using folder = await createTemporaryFolder();
    const tls = createCertificate(folder.path, "one");
    await expect(serve({ ...options, port: taken.port, tls })).rejects.toMatchObject(inUse);
    for (const file of [tls.certFile, tls.keyFile]) {
      // Everyone who watches a file shares one watcher.
      expect(watchFile(file, { persistent: false }, () => {}).listenerCount("change")).toBe(1);
      unwatchFile(file);
    }
  });

  test.each<
    [what: string, options: Partial<ServeOptions>, error: typeof RuleError | typeof TlsFilesError]
  >([
    ["an option of REST that cannot be served", { routes: addWrongRule }, RuleError],
    ["TLS files that are not there", { tls: { certFile: "no", keyFile: "no" } }, TlsFilesError],
  ])("because of %s does not listen", async (_what, wrong, error) => {
    const port = await findFreePort();
    await expect(serve({ ...options, port, ...wrong })).rejects.toThrow(error);
    expect(await isListening(port)).toBe(false);
  });
});

/** Adds a method with a REST option that cannot be served. */
function addWrongRule(router: ConnectRouter): void {
  const rule = { pattern: { case: "get", value: "/v1/{a" } } as const;
  const [input, output] = [VolumeSchema, VolumeSchema];
  for (const method of describeMethods([{ name: "Call", input, output, rule }])) {
    router.rpc(method, (() => ({})) as never);
  }
}

test.runIf(process.platform === "linux")("reusePort shares the port", async () => {
  await using first = await openTestService({ reusePort: true });
  await using second = await openTestService({ reusePort: true, port: first.port });
  expect(second.port).toBe(first.port);
  await first.drain(0);
  // The remaining server gets all connections.
  const response = await exchange({ origin: second.origin, version: "2", ...createRequest });
  expect(response.status).toBe(200);
  await second.drain(0);
});

test.skipIf(!hasOpenssl)(
  "changed TLS files that cannot be used are reported to onError by default",
  async () => {
    await using folder = await createTemporaryFolder();
    const tls = createCertificate(folder.path, "one");
    await using server = await openTestService({ tls, mayFail: true });
    // There is no event for the start of watching, so change the file until it is noticed.
    let change = 0;
    const seen = () => {
      writeFileSync(tls.certFile, `no PEM ${change++}`);
      return server.errors[0];
    };
    await expect.poll(seen, { interval: 300 }).toBeInstanceOf(TlsFilesError);
  },
);

describe.each(versions)("other routes, over HTTP/%s,", (version) => {
  test("are served from then on; running calls continue", async () => {
    await using server = await openTestService();
    using hold = server.hold();
    const ask = (path: string) =>
      exchange({ origin: server.origin, version, ...createRequest, path });
    const called = ask(createPath);
    await hold.untilBegun();
    server.update({
      routes: (router) => router.service(LibraryService, { getLibrary: () => ({}) }),
    });
    hold.release();
    expect(await called).toMatchObject({ status: 200 });
    expect(await ask(createPath)).toMatchObject({ status: 404 });
    const library = { origin: server.origin, version, method: "GET", path: "/v1/library" };
    expect(await exchange(library)).toMatchObject({ status: 200 });
  });

  test("that cannot be served change nothing", async () => {
    await using server = await openTestService();
    const rules = [{ selector: "library.v1.Nobody.Calls" }];
    expect(() => server.update({ rest: { rules } })).toThrow(RuleError);
    const called = exchange({ origin: server.origin, version, ...createRequest });
    expect(await called).toMatchObject({ status: 200 });
  });
});

test.each<[type: string, version: HttpVersion]>([
  ["application/grpc; charset=utf-8", "2"],
  ["application/grpc+proto;charset=UTF-8", "2"],
  ["application/grpc-web+proto; charset=utf-8", "1.1"],
])("%s is a type of gRPC, as parameters change none", async (type, version) => {
  await using service = await openTestService();
  const { status } = await exchange({
    ...{ origin: service.origin, version, method: "POST", path: createRpcPath },
    headers: { "content-type": type, te: "trailers" },
    body: envelope(new Uint8Array()),
  });
  expect(status).toBe(200);
  expect(service.created).toHaveLength(1);
});
