/** Services of upstreams beside others, behind the same gate, interceptors and observers. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { CallEnding } from "connect-gateway";
import { openGrpcTransport } from "connect-gateway/client";
import { addHealth, Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { addReflection } from "connect-gateway/reflection";
import { expect, test } from "vitest";
import { CatalogService } from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { EveryFieldSchema, FieldService } from "../../../gateway/test/gen/library/v1/fields_pb.ts";
import { LibraryService } from "../../../gateway/test/gen/library/v1/library_pb.ts";
import { get, send } from "../../../gateway/test/support/catalog.ts";
import { createEchoService } from "../../../gateway/test/support/echo.ts";
import {
  jsonOf,
  openGateway,
  type TestGatewayOptions,
} from "../../../gateway/test/support/gateway.ts";
import { grpcProtocol } from "../../../gateway/test/support/open-client.ts";
import {
  type ProxyOptions,
  proxyServices,
  type ReflectionWatchOptions,
  watchReflection,
} from "../../src/services/index.ts";
import { descriptors, openProxyOf, openUpstream } from "./open-proxy.ts";

const only = (name: string) => descriptors.services.filter(({ typeName }) => typeName === name);

test("one port serves two upstreams, own methods, health and reflection", async () => {
  await using catalog = await openUpstream((router) =>
    router.service(CatalogService, { getVolume: ({ id }) => ({ id, title: "Emma" }) }),
  );
  await using fields = await openUpstream((router) =>
    router.service(FieldService, createEchoService()),
  );
  const { registry } = descriptors;
  const toCatalog = openGrpcTransport({ url: catalog.url });
  const toFields = openGrpcTransport({ url: fields.url });
  await using gateway = await openGateway({
    routes(router) {
      const services = only(CatalogService.typeName);
      proxyServices({ services, registry, transport: toCatalog })(router);
      proxyServices({
        services: only(FieldService.typeName),
        registry,
        transport: toFields,
      })(router);
      router.service(LibraryService, { getLibrary: () => ({ displayName: "own" }) });
      addHealth(router);
      addReflection(router);
    },
  });
  expect(jsonOf(await gateway.send(get("/v1/volumes/7")))).toEqual({ id: "7", title: "Emma" });
  const echoed = await gateway.send(send("POST", "/v1/fields", { string: "a" }));
  expect(jsonOf(echoed)).toEqual({ string: "a" });
  expect(jsonOf(await gateway.send(get("/v1/library")))).toEqual({ displayName: "own" });
  using caller = grpcProtocol.open(Health, gateway.origin("2"));
  const { status } = await caller.client.check({ service: CatalogService.typeName });
  expect(status).toBe(HealthCheckResponse_ServingStatus.SERVING);
  toCatalog.close();
  toFields.close();
});

const openEcho = (options: Partial<TestGatewayOptions>) =>
  openProxyOf((router) => router.service(FieldService, createEchoService()), options);

const echo = send("POST", "/v1/fields", { string: "a" });

test.each<[name: string, give: (options: object) => unknown]>([
  ["proxyServices", (options) => proxyServices(options as ProxyOptions)],
  ["watchReflection", (options) => watchReflection(options as ReflectionWatchOptions)],
])("%s rejects unknown options", (name, give) => {
  expect(() => give({ transprt: {} })).toThrow(`${name}.transprt is no option; the options are`);
  expect(() => give({ services: "a" })).toThrow(`${name}.services must be a list: a`);
});

test("what the gate refuses does not reach the upstream", async () => {
  await using proxy = await openEcho({
    requestGate() {
      throw new ConnectError("who?", Code.Unauthenticated);
    },
  });
  expect(await proxy.send(echo)).toMatchObject({ status: 401 });
  expect(proxy.upstream.sessions).toEqual([]);
});

test("interceptors see messages and headers, and may change them", async () => {
  const shouting: Interceptor = (next) => async (request) => {
    if (request.stream) return await next(request);
    request.header.set("x-request-id", "7");
    const message = create(EveryFieldSchema, request.message as object);
    const answer = await next({ ...request, message: { ...message, string: "A" } as never });
    answer.header.set("x-seen", request.method.name);
    return answer;
  };
  await using proxy = await openEcho({ interceptors: [shouting] });
  const answer = await proxy.send(echo);
  expect(jsonOf(answer)).toEqual({ string: "A" });
  expect(answer.headers.get("x-seen")).toBe("Echo");
});

test("observers are told of each call and its end", async () => {
  const ended: [name: string | undefined, ending: CallEnding][] = [];
  await using proxy = await openEcho({
    observer: {
      begin: ({ method }) => ({ end: (ending) => ended.push([method?.name, ending]) }),
    },
  });
  await proxy.send(echo);
  await proxy.send(get("/v1/volumes/7")); // which the upstream does not have
  expect(ended).toMatchObject([
    ["Echo", { code: undefined, error: undefined, status: 200 }],
    [
      "GetVolume",
      { code: Code.Unimplemented, error: { cause: { isWireError: true } }, status: 501 },
    ],
  ]);
});
