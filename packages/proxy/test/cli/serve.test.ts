/** The command before servers of gRPC that know nothing of REST. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createSecureServer } from "node:http2";
import { get } from "node:https";
import { join } from "node:path";
import { Code, ConnectError, type ConnectRouter, createClient } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { openGrpcTransport } from "connect-gateway/client";
import { Health, HealthCheckResponse_ServingStatus as Status } from "connect-gateway/health";
import { addReflection } from "connect-gateway/reflection";
import { expect, test } from "vitest";
import { createCatalog } from "../../../gateway/test/catalog-server.ts";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import {
  FieldService,
  file_library_v1_fields,
} from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { createCertificate, hasOpenssl } from "../../../gateway/test/support/certificate.ts";
import { exchange } from "../../../gateway/test/support/exchange.ts";
import { listen } from "../../../gateway/test/support/free-port.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { post, runProcess, until, useFolder } from "./command.ts";

const folder = useFolder(file_library_v1_catalog, file_library_v1_fields);
const { start } = folder;

const described = ["--descriptors", "services.binpb"];
const catalog = (router: ConnectRouter) => router.service(CatalogService, createCatalog());
const field = (router: ConnectRouter) =>
  router.service(FieldService, { echo: (request) => request });

test("each service is served from its upstream, exactly, and is away with it alone", async () => {
  await using first = await openUpstream(catalog);
  await using second = await openUpstream(field);
  await using server = await start(
    ...["--upstream", first.url, "--upstream", `${FieldService.typeName}=${second.url}`],
    ...described,
  );
  const created = await post(`${server.origin}/v1/shelves/a/volumes`, '{"id": 9007199254740993}');
  expect(await created.json()).toMatchObject({ id: "9007199254740993" });
  const echoed = await post(`${server.origin}/v1/fields`, '{"string": "a"}');
  expect(await echoed.json()).toEqual({ string: "a" });
  for (const path of ["/openapi.json", "/docs"]) {
    expect((await fetch(`${server.origin}${path}`)).status).toBe(404);
  }
  await second[Symbol.asyncDispose]();
  const transport = openGrpcTransport({ url: server.origin });
  const { list } = createClient(Health, transport);
  await expect
    .poll(async () => (await list({})).statuses)
    .toMatchObject({
      "": { status: Status.SERVING },
      [CatalogService.typeName]: { status: Status.SERVING },
      [FieldService.typeName]: { status: Status.NOT_SERVING },
    });
  transport.close();
});

test("health is that of the upstream, from when it is there until it is away", async () => {
  let status: Status | undefined;
  let checks = 0;
  const check = () => {
    checks++;
    if (status === undefined) throw new ConnectError("no such service", Code.NotFound);
    return status === Status.UNKNOWN ? new Promise<never>(() => {}) : { status };
  };
  const upstream = await openUpstream((router) => router.service(Health, { check }));
  await using server = await start("--upstream", upstream.url, ...described);
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
  for (const [away, told, reason] of [
    [Status.NOT_SERVING, Status.SERVING, "is not serving"],
    [Status.UNKNOWN, undefined, "did not answer within 1 s"],
  ] as const) {
    do {
      status = away;
      await until(503, `${server.origin}/readyz`);
      const before = checks;
      await expect.poll(() => checks).toBeGreaterThan(before + 1); // told once
      status = told; // or nothing of the server as a whole
      await server.ready();
    } while (!server.errors().includes(reason)); // another check may have been late
  }
  await upstream[Symbol.asyncDispose]();
  await until(503, `${server.origin}/readyz`);
  const call = await fetch(`${server.origin}/v1/volumes/1`);
  expect([call.status, call.headers.has("retry-after")]).toEqual([503, true]);
  expect((await fetch(`${server.origin}/healthz`)).status).toBe(200);
  const told = server.errors().match(/is not ready|is ready again/g) ?? [];
  expect(told.join()).not.toContain("is not ready,is not ready");
  // A server without health is ready if it answers.
  await using _again = await openUpstream(catalog, { port: upstream.port });
  await server.ready();
  await expect.poll(() => server.errors()).toMatch(/ is not ready.*"msg":"\S+ is ready again"/s);
});

test("by reflection, all is unavailable until the upstream is there, and then served", async () => {
  const gone = await openUpstream(catalog);
  const { port, url } = gone;
  await gone[Symbol.asyncDispose]();
  await using server = await start("--upstream", url, "--reflection", "--openapi");
  const before = await fetch(`${server.origin}/v1/volumes/1`);
  expect(before.status).toBe(503);
  expect(await before.json()).toMatchObject({ code: 14 });
  for (const path of ["/openapi.json", "/docs"]) {
    expect((await fetch(server.origin + path)).status).toBe(503);
    expect((await fetch(server.origin + path, { method: "POST" })).status).toBe(405);
  }
  await using _upstream = await openUpstream((router) => addReflection(catalog(router)), { port });
  await until(404, `${server.origin}/v1/volumes/1`);
  const document = await (await fetch(`${server.origin}/openapi.json`)).json();
  expect(document).toMatchObject({ paths: { "/v1/volumes/{id}": { get: {} } } });
  const page = await fetch(`${server.origin}/docs`);
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(await page.text()).toContain(" /v1/volumes/{id}</code></h2>");
  expect(server.errors()).toContain("cannot read the services");
});

test("calls before the services are known are logged, counted and answered to pages as others", async () => {
  const gone = await openUpstream(catalog);
  await gone[Symbol.asyncDispose]();
  const page = { origin: "https://a.example" };
  await using server = await start(
    ...["--upstream", gone.url, "--reflection", "--cors-origin", page.origin],
    ...["--cors-credentials", "--cors-exposed-headers", "x-region"],
    ...["--request-metadata", "x-tenant", "--access-log", "on", "--admin-port", "0"],
  );
  const path = "/v1/volumes/1";
  const asked = { "access-control-request-method": "PATCH" };
  const { origin } = server;
  for (const version of ["1.1", "2"] as const) {
    const preflight = { version, origin, path, method: "OPTIONS", headers: { ...page, ...asked } };
    const allowed = await exchange(preflight);
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-methods")).toBe("PATCH");
    expect(allowed.headers.get("access-control-allow-credentials")).toBe("true");
    const toSend = allowed.headers.get("access-control-allow-headers");
    expect(toSend).toMatch(/traceparent.*tracestate.*x-request-id.*x-tenant/i);
    for (const [protocol, type] of [
      ["rest", "application/json"],
      ["grpc", "application/grpc"],
      ["grpc-web", "application/grpc-web"],
      ["connect", "application/proto"],
    ] as const) {
      const headers = { ...page, "content-type": type };
      const answer = await exchange({ version, origin, path, method: "PATCH", headers });
      expect(answer.status).toBe(protocol.startsWith("grpc") ? 200 : 503);
      expect(answer.headers.get("access-control-allow-origin")).toBe(page.origin);
      expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
      const toRead = answer.headers.get("access-control-expose-headers");
      expect(toRead).toMatch(/x-request-id.*x-region/i);
      // Of the access log.
      expect(answer.headers.get("x-request-id")).not.toBeNull();
    }
  }
  const metrics = await server.readMetrics();
  for (const protocol of ["rest", "grpc", "grpc-web", "connect"]) {
    expect(metrics).toMatch(new RegExp(`protocol="${protocol}",code="UNAVAILABLE"} 2\n`));
  }
});

test.each<
  [what: string, args: (port: number) => readonly string[], message: string, exitCode?: number]
>([
  ["its port is taken", (port) => [...described, "--port", `${port}`], "in use; choose another"],
  ["a rule has no method", () => [...described, "--rules", "wrong.yaml"], "v1.No: no method", 2],
  ["no such tool", () => [...described, "--mcp", "library.v1.No"], "--mcp library.v1.No: no", 2],
])("a start that fails ends the process: %s", async (_what, args, message, code = 1) => {
  await using upstream = await openUpstream(catalog);
  const wrong = "http: { rules: [{ selector: library.v1.No, get: /a }] }";
  await writeFile(join(folder.path, "wrong.yaml"), wrong);
  const given = ["--upstream", upstream.url, "--port", "0", ...args(upstream.port)];
  const { exitCode, stderr } = await runProcess(given, folder.path);
  expect(stderr).toContain(message);
  expect(exitCode).toBe(code);
  const checked = await runProcess([...given, "config", "check"], folder.path);
  const isFree = message.startsWith("in use");
  expect(checked).toMatchObject(isFree ? { exitCode: 0 } : { exitCode: 2, stderr });
});

test("calls are counted and logged as they are named, headers reach the upstream by the list, and a drain ends with 0", async () => {
  let seen = new Headers();
  const drained = Promise.withResolvers<void>();
  await using upstream = await openUpstream((router) =>
    router.service(CatalogService, {
      async getVolume({ id }, { requestHeader }) {
        seen = requestHeader;
        if (id === 2n) await drained.promise;
        return {};
      },
    }),
  );
  await using server = await start(
    ...["--upstream", upstream.url, ...described, "--request-metadata", "x-tenant"],
    ...["--admin-port", "0", "--access-log", "on", "--log-format", "json"],
  );
  const sent = { authorization: "Bearer a", "x-tenant": "t" };
  const others = { "x-other": "o", "x-forwarded-for": "1.2.3.4" }; // nothing poses as the caller
  await fetch(`${server.origin}/v1/volumes/1`, { headers: { ...sent, ...others } });
  expect(Object.fromEntries(seen)).toMatchObject({ ...sent, "x-forwarded-for": "127.0.0.1" });
  expect(seen.has("x-other")).toBe(false);
  const metrics = await server.readMetrics();
  const labels = 'method="library.v1.CatalogService/GetVolume",protocol="rest",code="OK"';
  expect(metrics).toContain(`connect_gateway_requests_total{${labels}} 1\n`);
  const last = fetch(`${server.origin}/v1/volumes/2`);
  await expect.poll(server.readMetrics).toMatch(/_in_flight\S* 1\n/);
  server.terminate();
  await expect.poll(server.readMetrics).toContain("connect_gateway_ready 0\n");
  drained.resolve();
  expect((await last).status).toBe(200);
  expect(await within("the end", server.ended)).toBe(0);
  expect(server.errors()).not.toContain("anybody may call");
});

test.skipIf(!hasOpenssl)("TLS to both sides, each with client certificates", async () => {
  const [server, client] = ["server", "client"].map((name) => createCertificate(folder.path, name));
  if (server === undefined || client === undefined) throw new Error("no certificates");
  const key = readFileSync(server.keyFile);
  const checked = { ca: client.pem, requestCert: true, rejectUnauthorized: true };
  await using upstream = await listen(
    createSecureServer(
      { ...checked, key, cert: server.pem },
      connectNodeAdapter({ routes: catalog }),
    ),
  );
  const { port } = upstream;
  const trust = ["--upstream", `https://127.0.0.1:${port}`, "--upstream-ca", server.certFile];
  const unknown = await folder.run("--check", ...trust.slice(0, 2), "--reflection");
  expect(unknown.stderr).toContain("self-signed certificate; it, or its CA, must be trusted\n");
  const own = ["--upstream-cert", client.certFile, "--upstream-key", client.keyFile];
  const tls = ["--tls-cert", server.certFile, "--tls-key", server.keyFile];
  const mutual = [...tls, "--tls-client-ca", client.certFile];
  await using secure = await start(...trust, ...own, ...mutual, ...described);
  const place = { host: "127.0.0.1", port: secure.port, path: "/v1/volumes/1", ca: server.pem };
  await expect(once(get(place), "response")).rejects.toThrow(/certificate required|ECONNRESET/);
  const request = get({ ...place, cert: client.pem, key: readFileSync(client.keyFile) });
  const [response] = await once(request, "response");
  response.resume();
  expect(response.statusCode).toBe(404);
  expect(response.socket.encrypted).toBe(true);
});
