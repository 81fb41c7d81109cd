/** The protocol itself: versions, headers, JSON-RPC, pages, and who may call. */
import { Code, ConnectError, createContextKey, type HandlerContext } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { describe, expect, test } from "vitest";
import type { CallEnding, ObservedRequest } from "../../src/index.ts";
import { createMcp, type McpOptions } from "../../src/mcp/index.ts";
import { CatalogService, openShelves, walden } from "../support/catalog.ts";
import { jsonOf, type TestGatewayOptions } from "../support/gateway.ts";
import { within } from "../support/within.ts";

const tools = [CatalogService.typeName];

const open = (options: Partial<TestGatewayOptions> = {}, own: Partial<McpOptions> = {}) =>
  openShelves(
    { getVolume: () => ({ ...walden, id: 1n }), watchVolumes: () => createAsyncIterable([{}]) },
    { mcp: createMcp({ tools, ...own }), ...options },
  );

const modern = "2026-07-28";
const olderVersions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const abilities = { capabilities: { tools: {} } };
const meta = {
  "io.modelcontextprotocol/protocolVersion": modern,
  "io.modelcontextprotocol/clientCapabilities": {},
};

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const post = ({ headers = {}, body }: Sent) => ({
  ...{ method: "POST", path: "/mcp" },
  headers: { "content-type": "application/json", ...headers },
  body: typeof body === "string" ? body : JSON.stringify(body),
});

const request = (method: string, params = {}) => ({ jsonrpc: "2.0", id: 1, method, params });

const initialize = (protocolVersion: string) => request("initialize", { protocolVersion });

const by = (version: string, body: unknown): Sent => ({
  headers: { "mcp-protocol-version": version },
  body,
});

const older = (method: string, params?: object) => by("2025-11-25", request(method, params));

const watching = older("tools/call", { name: "watch_volumes", _meta: { progressToken: 1 } });

const calling = (args: object | null) =>
  older("tools/call", { name: "get_volume", arguments: args });

const current = (method: string, params = {}, headers: Record<string, string> = {}): Sent => ({
  headers: { "mcp-protocol-version": modern, "mcp-method": method, ...headers },
  body: request(method, { ...params, _meta: meta }),
});

const call = (headers: Record<string, string> = { "mcp-name": "get_volume" }) =>
  current("tools/call", { name: "get_volume", arguments: { name: "a" } }, headers);

const malformed = (body: unknown) => by("2025-11-25", body);

describe("a request", () => {
  type Row = readonly [sent: Sent, status: number, answer: object];

  const result = (part: object) => ({ jsonrpc: "2.0", id: 1, result: part });
  const error = (code: number, id: unknown = 1) => ({ jsonrpc: "2.0", id, error: { code } });
  const stream = { structuredContent: { messages: [{}], truncated: false } };
  const agreed = (protocolVersion: string) => result({ protocolVersion });
  const unsupported = { supported: [modern, ...olderVersions], requested: "2024-10-07" };
  const anonymous = (code: number) => ({ jsonrpc: "2.0", error: { code } });
  const complete = expect.objectContaining({
    resultType: "complete",
    _meta: { "io.modelcontextprotocol/serverInfo": { name: tools[0], version: "0.0.0" } },
  });

  const rows: readonly Row[] = [
    [call(), 200, result(complete)],
    [older("tools/call", { name: "get_volume" }), 200, result({ structuredContent: walden })],
    [calling(null), 200, result({ structuredContent: walden })],
    [older("tools/list", { cursor: null, _meta: null }), 200, result({ ttlMs: 60_000 })],
    [malformed({ ...request("ping"), params: null }), 200, result({})],
    [{ ...watching, headers: { accept: "application/json" } }, 200, result(stream)],
    [call({ "mcp-name": "=?base64?Z2V0X3ZvbHVtZQ==?=" }), 200, result(complete)],
    [call({ "mcp-name": "=?base64?!?=" }), 400, error(-32020)],
    [call({ "mcp-name": "list_volumes" }), 400, error(-32020)],
    [call({}), 400, error(-32020)],
    [call({ "mcp-name": "get_volume", "mcp-method": "tools/list" }), 400, error(-32020)],
    [{ ...call(), headers: {} }, 400, error(-32020)],
    [{ body: request("ping") }, 200, { jsonrpc: "2.0", id: 1, result: {} }],
    [by("2025-11-25", call().body), 400, error(-32020)],
    [by("2024-10-07", request("ping")), 400, { error: { code: -32022, data: unsupported } }],
    [{ ...current("tools/list"), body: request("tools/list") }, 400, error(-32602)],
    [
      current("server/discover"),
      200,
      result(expect.objectContaining({ ...abilities, ttlMs: 60_000, cacheScope: "private" })),
    ],
    ...olderVersions.map((one): Row => [{ body: initialize(one) }, 200, agreed(one)]),
    [by("2024-10-07", initialize("2025-06-18")), 200, agreed("2025-06-18")],
    [by(modern, initialize("2025-06-18")), 200, agreed("2025-06-18")],
    [{ body: initialize(modern) }, 200, agreed("2025-11-25")],
    [current("resources/list"), 404, error(-32601)],
    [older("resources/list"), 200, error(-32601)],
    [older("tools/call", { name: "__proto__" }), 200, error(-32602)],
    [older("tools/call", { name: { toString: 1 } }), 200, error(-32602)],
    [calling([]), 200, error(-32602)],
    [older("tools/list", { cursor: "x" }), 200, error(-32602)],
    [calling({ id: 2 ** 53 }), 200, result({ isError: true })],
    [malformed([request("ping")]), 400, anonymous(-32600)],
    [malformed({ jsonrpc: "2.0", id: 1, result: {} }), 400, anonymous(-32600)],
    [malformed({ ...request("ping"), id: null }), 400, anonymous(-32600)],
    [malformed('{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'), 400, anonymous(-32700)],
    [malformed(`{"a":${"[".repeat(10_000)}`), 400, anonymous(-32700)],
    [malformed(`{"a":[${"1,".repeat(10_000)}1]}`), 400, anonymous(-32700)],
    [{ headers: { "content-type": "text/plain" }, body: "" }, 415, anonymous(Code.InvalidArgument)],
    [malformed(`{"a":"${"a".repeat(70_000)}"}`), 413, anonymous(Code.ResourceExhausted)],
  ];

  test.each(rows)("%j: %i", async (sent, status, answer) => {
    await using gateway = await open({ readMaxValues: 1000, readMaxBytes: 65_536 });
    const response = await gateway.send(post(sent));
    expect(response.status).toBe(status);
    expect(jsonOf(response)).toMatchObject(answer);
  });

  test.each(["9007199254740993", "1.0"])("has the exact id %s", async (id) => {
    await using gateway = await open();
    for (const method of ["ping", "pong"]) {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`;
      const response = await gateway.send(post(malformed(body)));
      expect(response.body.toString()).toContain(`"id":${id},`);
    }
  });

  test("that is a notification is accepted", async () => {
    await using gateway = await open();
    const body = { jsonrpc: "2.0", method: "notifications/initialized" };
    const response = await gateway.send(post(malformed(body)));
    expect(response).toMatchObject({ status: 202, body: Buffer.alloc(0) });
  });

  test.each(["GET", "DELETE"])("by %s gets a 405", async (method) => {
    await using gateway = await open();
    const response = await gateway.send({ method, path: "/mcp" });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST");
  });
});

describe("the gate", () => {
  const refuse = (_context?: unknown, challenge = "Bearer realm=a") => {
    throw new ConnectError("no token", Code.Unauthenticated, { "www-authenticate": challenge });
  };

  test.each([
    ["of this version", call()],
    ["of an older one", older("tools/call", { name: "get_volume" })],
    ["for the list", older("tools/list")],
    ["that is no JSON", malformed("{")],
  ])("refuses a request %s before its body is read", async (_what, sent) => {
    await using gateway = await open({ requestGate: refuse });
    const whole = post(sent);
    const headers = { ...whole.headers, "content-length": "99999" };
    const response = await gateway.send({ ...whole, headers, body: "" });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe("Bearer realm=a");
  });

  test.each(["requestGate", "admit"])("holds no call that a shutdown ends: %s", async (gate) => {
    for (const sent of [call(), calling({ name: "a" })]) {
      const stop = new AbortController();
      const hold = () => new Promise<void>(() => stop.abort(new ConnectError("stopping", 14)));
      await using gateway = await open({ [gate]: hold, shutdownSignal: stop.signal });
      expect((await within("the answer", gateway.send(post(sent)))).status).toBe(503);
    }
  });

  test("is not told of a shutdown once what it let in is answered", async () => {
    const stop = new AbortController();
    const signals: AbortSignal[] = [];
    const requestGate = ({ signal }: HandlerContext) => void signals.push(signal);
    await using gateway = await open({ requestGate, shutdownSignal: stop.signal });
    expect(await gateway.send(post(older("ping", {})))).toMatchObject({ status: 200 });
    stop.abort();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
  });

  test("is passed once, and leaves what it knows", async () => {
    const caller = createContextKey("");
    const callers: string[] = [];
    let passed = 0;
    const getVolume = (_: object, { values }: HandlerContext) => {
      callers.push(values.get(caller));
      return {};
    };
    await using gateway = await openShelves(
      { getVolume },
      {
        requestGate: ({ values }) => void values.set(caller, `caller ${++passed}`),
        admit: ({ values }) => void callers.push(`admits ${values.get(caller)}`),
        mcp: createMcp({ tools }),
      },
    );
    await gateway.send(post(older("tools/call", { name: "get_volume" })));
    await gateway.send(post(call()));
    expect(callers).toEqual(["admits caller 1", "caller 1", "admits caller 2", "caller 2"]);
  });

  test.each([
    ["without a header that names it", {}],
    ["with a header that names another", { "mcp-name": "get_volume" }],
  ])("that decides by the method is asked about the right one, %s", async (_how, header) => {
    const asked: string[] = [];
    await using gateway = await open({
      requestGate({ method }) {
        asked.push(method.name);
        if (method.name === "DeleteVolume") refuse();
      },
    });
    const calling = (name: string) => {
      const sent = older("tools/call", { name });
      return gateway.send(post({ ...sent, headers: { ...sent.headers, ...header } }));
    };
    expect((await calling("get_volume")).status).toBe(200);
    expect((await calling("delete_volume")).status).toBe(401);
    expect(asked).toContain("DeleteVolume");
  });

  test.each([
    ["Bearer realm=a", "Bearer realm=a,"],
    ["Bearer", "Bearer"],
  ])("that asks for a %s says where to get a token", async (challenge, asked) => {
    const resource = "https://api.example.com/mcp?a=1";
    const issuers = ["https://issuer.example.com"];
    const authorization = { resource, issuers, scopes: ["volumes"] };
    const requestGate = (context: object) => refuse(context, challenge);
    await using gateway = await open({ requestGate }, { authorization });
    const path = "/.well-known/oauth-protected-resource";
    expect((await gateway.send(post(call()))).headers.get("www-authenticate")).toBe(
      `${asked} resource_metadata="https://api.example.com${path}/mcp?a=1"`,
    );
    for (const one of [path, `${path}/mcp?a=1`]) {
      expect(jsonOf(await gateway.send({ method: "GET", path: one }))).toEqual({
        ...{ resource, authorization_servers: issuers },
        ...{ bearer_methods_supported: ["header"], scopes_supported: ["volumes"] },
      });
      const { status, body } = await gateway.send({ method: "HEAD", path: one });
      expect({ status, length: body.length }).toEqual({ status: 200, length: 0 });
    }
  });
});

test("an implementation without a token gets a 401, too", async () => {
  const getVolume = () => {
    throw new ConnectError("no token", Code.Unauthenticated);
  };
  await using gateway = await openShelves({ getVolume }, { mcp: createMcp({ tools }) });
  const response = await gateway.send(post(call()));
  expect(response.status).toBe(401);
  expect(jsonOf(response)).toMatchObject({ id: 1, error: { code: Code.Unauthenticated } });
});

describe("a page", () => {
  const from = (sent: Sent, origin: string, host?: string) =>
    post({ ...sent, headers: { ...sent.headers, origin, ...(host && { host }) } });

  test.each([
    ["of another origin", "https://evil.example", undefined, 403],
    ["that rebinds its name", "http://evil.example", "evil.example", 403],
    ["that is allowed", "https://app.example", undefined, 200],
    ["of this machine", "http://localhost:8080", "localhost:8080", 200],
    ["of this server at its address", "http://192.0.2.1:8080", "192.0.2.1:8080", 200],
    ["of this machine at another port", "http://localhost:81", "localhost:8080", 403],
    ["where any may call", "https://evil.example", undefined, 200],
  ])("%s", async (what, origin, host, status) => {
    const origins = [what === "where any may call" ? "*" : "https://app.example"];
    await using gateway = await open({ cors: { origins } });
    expect((await gateway.send(from(call(), origin, host))).status).toBe(status);
  });

  test("of another origin is refused before its token is looked at", async () => {
    const requestGate = () => Promise.reject(new ConnectError("no token", Code.Unauthenticated));
    await using gateway = await open({ requestGate });
    expect((await gateway.send(from(call(), "https://evil.example"))).status).toBe(403);
  });

  test("may send the headers of the protocol", async () => {
    await using gateway = await open({ cors: { origins: ["https://app.example"] } });
    const { headers } = await gateway.send({
      ...{ method: "OPTIONS", path: "/mcp" },
      headers: { origin: "https://app.example", "access-control-request-method": "POST" },
    });
    expect(headers.get("access-control-allow-methods")).toBe("POST");
    expect(headers.get("access-control-allow-headers")).toMatch(/MCP-Protocol-Version.*Mcp-Name/);
  });
});

test("a raw answer of a tool has a limit, too", async () => {
  const downloadVolume = () => ({ contentType: "text/plain", data: Buffer.from("too long") });
  const limits = { mcp: createMcp({ tools }), writeMaxBytes: 7 };
  await using gateway = await openShelves({ downloadVolume }, limits);
  const response = await gateway.send(post(older("tools/call", { name: "download_volume" })));
  expect(jsonOf(response)).toMatchObject({ result: { isError: true } });
});

test("a raw answer of a tool without a type is bytes, in JSON whatever its method says", async () => {
  const downloadVolume = (_: unknown, { responseHeader }: HandlerContext) => {
    responseHeader.set("content-type", "text/html");
    return { data: Buffer.from("a") };
  };
  await using gateway = await openShelves({ downloadVolume }, { mcp: createMcp({ tools }) });
  const response = await gateway.send(post(older("tools/call", { name: "download_volume" })));
  expect(response.headers.get("content-type")).toBe("application/json");
  const resource = { mimeType: "application/octet-stream", blob: "YQ==" };
  expect(jsonOf(response)).toMatchObject({ result: { content: [{ type: "resource", resource }] } });
});

test("observers are told of the method, by header or body", async () => {
  const told: unknown[] = [];
  const observer = {
    begin: (observed: ObservedRequest) => ({
      end: ({ code }: CallEnding) =>
        told.push([observed.protocol, observed.method?.name, observed.pathTemplate, code]),
    }),
  };
  await using gateway = await open({ observer });
  for (const sent of [call(), calling({ id: "x" }), older("tools/list")])
    await gateway.send(post(sent));
  expect(told).toEqual([
    ["mcp", "GetVolume", "/mcp", undefined],
    ["mcp", "GetVolume", "/mcp", Code.InvalidArgument],
    ["mcp", undefined, "/mcp", undefined],
  ]);
});

test.each([
  [{ tools: ["library.v1.Nothing"] }, "mcp.tools: library.v1.Nothing is not served"],
  [{ tools: [] }, "mcp.tools: no method is named"],
  [{ tools: [`${tools[0]}/ImportVolumes`] }, "takes a stream"],
  [{ tools, streamBytesMax: 0 }, "mcp.streamBytesMax must be a whole number from 1"],
  [{ tools, schemas: "short" as "plain" }, "mcp.schemas must be one of full, plain: short"],
  [{ tools, authorization: { resource: "/mcp", issuers: [] } }, "must be a URL"],
  [{ tools, hints: { [tools[0] ?? ""]: {} } }, "mcp.hints: library.v1.CatalogService is no tool"],
])("%j throws at startup", async (options, message) => {
  await expect(async () => open({ mcp: createMcp(options as never) })).rejects.toThrow(message);
});
