/** grpc.health.v1.Health on a router. */
import {
  Code,
  ConnectError,
  type ConnectRouter,
  createClient,
  createRouterTransport,
} from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  addHealth,
  Health,
  HealthCheckResponse_ServingStatus,
  type HealthOptions,
} from "../../src/health/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LabelService } from "../gen/library/v1/label_pb.ts";
import { grpcProtocol, openProtocols } from "../support/open-client.ts";
import { readWatch } from "../support/read-watch.ts";
import { openTestService, tokenGate } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";

const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = HealthCheckResponse_ServingStatus;
const catalog = CatalogService.typeName;
const health = Health.typeName;
const unknown = { code: Code.NotFound };

/** A server with these health options, and additional services on its router. */
function openHealth(options: HealthOptions, add: (router: ConnectRouter) => void = () => {}) {
  return openTestService({
    routes: (router) => {
      addHealth(router, options);
      add(router);
    },
  });
}

describe.each(openProtocols)("over $name", ({ open }) => {
  const server = useOpened(() =>
    openTestService({
      routes(router) {
        addHealth(router.service(CatalogService, {}));
        router.service(LabelService, {});
      },
    }),
  );

  test("List names everything that Check knows: services added before and after it", async () => {
    using caller = open(Health, server.origin);
    const { statuses } = await caller.client.list({});
    const names = ["", health, catalog, LabelService.typeName];
    expect(Object.keys(statuses).sort()).toEqual(names);
    for (const service of names) {
      expect(statuses[service]?.status).toBe(SERVING);
      expect(await caller.client.check({ service })).toMatchObject({ status: SERVING });
    }
    await expect(caller.client.check({ service: "a.B" })).rejects.toMatchObject(unknown);
  });

  test("Watches continue until a drain, which does not wait for them", async () => {
    await using own = await openTestService();
    using caller = open(Health, own.origin);
    const watches = ["", catalog, "a.B"].map((service) =>
      readWatch(caller.client.watch({ service })),
    );
    const next = () => Promise.all(watches.map((watch) => watch.next()));
    expect(await next()).toEqual([SERVING, SERVING, SERVICE_UNKNOWN]);
    const closed = own.drain(600_000);
    const [all, service, unknown] = watches;
    expect([await all?.next(), await service?.next()]).toEqual([NOT_SERVING, NOT_SERVING]);
    expect([await all?.end(), await service?.end()]).toEqual(Array(2).fill(Code.Unavailable));
    await expect(unknown?.next()).rejects.toMatchObject({ code: Code.Unavailable });
    await closed;
  });

  test.each([1, 5])("%d watches are served, and no more until one leaves", async (watchesMax) => {
    await using own = await openHealth({ watchesMax });
    using caller = open(Health, own.origin);
    const leaving = new AbortController();
    const watches = Array.from({ length: watchesMax }, (_, index) =>
      readWatch(caller.client.watch({}, index === 0 ? { signal: leaving.signal } : {})),
    );
    for (const watch of watches) expect(await watch.next()).toBe(SERVING);
    const another = () => readWatch(caller.client.watch({}));
    expect(await another().end()).toBe(Code.ResourceExhausted);
    leaving.abort();
    const status = () =>
      another()
        .next()
        .catch(() => undefined);
    await expect.poll(status).toBe(SERVING);
  });
});

test("only the named services are known", async () => {
  const add = (router: ConnectRouter) => router.service(CatalogService, {});
  await using server = await openHealth({ services: [FieldService] }, add);
  using caller = grpcProtocol.open(Health, server.origin);
  const { statuses } = await caller.client.list({});
  expect(Object.keys(statuses)).toEqual(["", FieldService.typeName]);
  await expect(caller.client.check({ service: catalog })).rejects.toMatchObject(unknown);
});

test("Check and Watch depend on isReady, and Watch reports each change once", async () => {
  let isReady = true;
  await using server = await openHealth({ isReady: () => isReady });
  using caller = grpcProtocol.open(Health, server.origin);
  const watch = readWatch(caller.client.watch({}));
  for (const status of [SERVING, NOT_SERVING, SERVING]) {
    isReady = status === SERVING;
    expect(await watch.next()).toBe(status);
    expect(await caller.client.check({})).toMatchObject({ status });
  }
});

test("a service may have a health of its own", async () => {
  const isReady = (service: string) => service !== catalog;
  await using server = await openHealth({ isReady, services: [CatalogService] });
  using caller = grpcProtocol.open(Health, server.origin);
  const { statuses } = await caller.client.list({});
  expect(statuses).toMatchObject({ "": { status: SERVING }, [catalog]: { status: NOT_SERVING } });
  for (const [service, { status }] of Object.entries(statuses)) {
    expect(await caller.client.check({ service })).toMatchObject({ status });
    expect(await readWatch(caller.client.watch({ service })).next()).toBe(status);
  }
});

test.each([
  [undefined, Code.Unavailable],
  [new ConnectError("over", Code.Aborted), Code.Aborted],
])("a Watch ends with the reason of `draining`, without a report: %s", async (reason, code) => {
  const draining = new AbortController();
  await using server = await openHealth({ draining: draining.signal });
  using caller = grpcProtocol.open(Health, server.origin);
  const watch = readWatch(caller.client.watch({}));
  expect(await watch.next()).toBe(SERVING);
  draining.abort(reason);
  expect(await watch.next()).toBe(NOT_SERVING);
  expect(await watch.end()).toBe(code);
  await using late = await openHealth({ draining: draining.signal });
  using other = grpcProtocol.open(Health, late.origin);
  expect(await other.client.check({})).toMatchObject({ status: NOT_SERVING });
});

test("a Watch reports a drain that begins before SERVING is sent", async () => {
  const draining = new AbortController();
  const isReady = () => draining.abort() === undefined;
  await using server = await openHealth({ draining: draining.signal, isReady });
  using caller = grpcProtocol.open(Health, server.origin);
  const watch = readWatch(caller.client.watch({}));
  expect([await watch.next(), await watch.next()]).toEqual([SERVING, NOT_SERVING]);
  expect(await watch.end()).toBe(Code.Unavailable);
});

test("without `draining`, a drain ends a Watch after its timeout, like any other call", async () => {
  await using server = await openHealth({});
  using caller = grpcProtocol.open(Health, server.origin);
  const watch = readWatch(caller.client.watch({}));
  expect(await watch.next()).toBe(SERVING);
  const drained = server.drain(100);
  // No NOT_SERVING before.
  await expect(watch.next()).rejects.toMatchObject({ code: Code.Unavailable });
  await drained;
});

test("a Watch of a router of connect-es ends with the reason of its shutdown", async () => {
  const shutdown = new AbortController();
  const router = { shutdownSignal: shutdown.signal };
  const client = createClient(Health, createRouterTransport(addHealth, { router }));
  const watch = readWatch(client.watch({}));
  expect(await watch.next()).toBe(SERVING);
  shutdown.abort(new ConnectError("over", Code.Aborted));
  expect(await watch.end()).toBe(Code.Aborted);
});

test("Health uses the gate of the router, unless its handler has another", async () => {
  const check = async (routes: (router: ConnectRouter) => void) => {
    await using server = await openTestService({ requestGate: tokenGate, routes });
    using caller = grpcProtocol.open(Health, server.origin);
    return await caller.client.check({}).then(
      ({ status }) => status,
      (error: unknown) => ConnectError.from(error).message,
    );
  };
  expect(await check((router) => addHealth(router))).toMatch("there is no token");
  expect(await check((router) => addHealth(router, {}, { requestGate: () => {} }))).toBe(SERVING);
});

test("a request is read only up to the maximum length of a name", async () => {
  await using server = await openTestService();
  using caller = grpcProtocol.open(Health, server.origin);
  const service = "a".repeat(5000);
  const code = Code.ResourceExhausted;
  await expect(caller.client.check({ service })).rejects.toMatchObject({ code });
  expect(await readWatch(caller.client.watch({ service })).end()).toBe(code);
});
