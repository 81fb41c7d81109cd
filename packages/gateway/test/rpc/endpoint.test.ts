/** Options apply to every method as in connect-es: each row is run with both. */
import {
  Code,
  ConnectError,
  type ConnectRouter,
  type ConnectRouterOptions,
  createConnectRouter,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { compressionBrotli, compressionGzip } from "@connectrpc/connect-node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { collectEndpoints } from "../../src/rpc/endpoint.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { probe, short, universal } from "../support/probe.ts";

/** A service whose implementation reports the options that it sees. */
function routesFor(log: string[], own: ConnectRouterOptions | undefined, as: "service" | "rpc") {
  const echo = (message: { string: string }, { signal }: HandlerContext) => {
    log.push(signal.aborted ? "echo, shut down" : "echo");
    return message;
  };
  return (router: ConnectRouter) => {
    if (as === "rpc") router.rpc(FieldService.method.echo, echo, own);
    else router.service(FieldService, { echo }, own);
  };
}

type Settings = (log: string[]) => ConnectRouterOptions;
type Case = readonly [router: Settings, own: Settings | undefined, as: "service" | "rpc"];

async function stock([router, own, as]: Case): Promise<unknown> {
  const log: string[] = [];
  const connectRouter = createConnectRouter(router(log));
  routesFor(log, own?.(log), as)(connectRouter);
  const [echo] = connectRouter.handlers;
  return echo && { protocols: echo.protocolNames, probes: await probe(universal(echo), log) };
}

async function gateway([router, own, as]: Case): Promise<unknown> {
  const log: string[] = [];
  const [echo] = collectEndpoints(router(log), routesFor(log, own?.(log), as));
  if (echo === undefined || echo.spec.kind !== "unary") return undefined;
  return { protocols: echo.rpc.protocolNames, probes: await probe(short(echo), log) };
}

async function gatewayRest([router, own, as]: Case): Promise<unknown[]> {
  const log: string[] = [];
  const [echo] = collectEndpoints(router(log), routesFor(log, own?.(log), as));
  if (echo === undefined) throw new Error("Echo is not served");
  return probe(short(echo, "/v1/fields"), log);
}

/** The result, or the message of the error. */
async function settled<T>(run: Promise<T>): Promise<T | string> {
  try {
    return await run;
  } catch (error) {
    return ConnectError.from(error).message;
  }
}

function interceptor(log: string[], name: string): Interceptor {
  return (next) => async (request) => {
    log.push(name);
    return next(request);
  };
}

function gate(log: string[], name: string, refuses = false) {
  return () => {
    log.push(name);
    if (refuses) throw new ConnectError(name, Code.Unauthenticated);
  };
}

const aborted = AbortSignal.abort(new ConnectError("over", Code.Unavailable));

const none: Settings = () => ({});
const gzip = [compressionGzip];
const rows: readonly [what: string, router: Settings, own: Settings | undefined][] = [
  ["no options at all", none, undefined],
  ["interceptors", (log) => ({ interceptors: [interceptor(log, "router")] }), undefined],
  [
    "interceptors of the service replace the router's",
    (log) => ({ interceptors: [interceptor(log, "router")] }),
    (log) => ({ interceptors: [interceptor(log, "own 1"), interceptor(log, "own 2")] }),
  ],
  ["a gate", (log) => ({ requestGate: gate(log, "router") }), undefined],
  [
    "a gate of the service replaces the router's",
    (log) => ({ requestGate: gate(log, "router") }),
    (log) => ({ requestGate: gate(log, "own", true) }),
  ],
  ["a readMaxBytes out of range", () => ({ readMaxBytes: 0 }), undefined],
  ["gzip", () => ({ acceptCompression: gzip }), undefined],
  [
    "no compression for one service",
    () => ({ acceptCompression: [compressionGzip, compressionBrotli] }),
    () => ({ acceptCompression: [] }),
  ],
  ["compressMinBytes", () => ({ acceptCompression: gzip, compressMinBytes: 10 }), undefined],
  ["unknown fields", () => ({ jsonOptions: { ignoreUnknownFields: false } }), undefined],
  [
    "jsonOptions of the service replace the router's as a whole",
    () => ({ jsonOptions: { ignoreUnknownFields: false } }),
    () => ({ jsonOptions: { alwaysEmitImplicit: true } }),
  ],
  ["the Connect protocol header", () => ({ requireConnectProtocolHeader: true }), undefined],
  ["maxTimeoutMs", () => ({ maxTimeoutMs: 1000 }), undefined],
  ["a shutdown", () => ({ shutdownSignal: aborted }), undefined],
  ["no gRPC", () => ({ grpc: false }), undefined],
  ["no gRPC in the service", none, () => ({ grpc: false })],
  // connect-es takes these switches only from the options of the service if it has any.
  ["no gRPC, and a service with options", () => ({ grpc: false }), () => ({ readMaxBytes: 5000 })],
  ["no gRPC, and a service without gRPC-Web", () => ({ grpc: false }), () => ({ grpcWeb: false })],
  ["no protocol at all", () => ({ grpc: false, grpcWeb: false, connect: false }), undefined],
  ["no protocol in the service", none, () => ({ grpc: false, grpcWeb: false, connect: false })],
];

describe.each(["service", "rpc"] as const)("a %s", (as) => {
  test.each(rows)("with %s is as in connect-es", async (_what, router, own) => {
    const given: Case = [router, own, as];
    expect(await settled(gateway(given))).toEqual(await settled(stock(given)));
  });
});

test("with any options is as in connect-es", async () => {
  const log: string[] = [];
  const settings = fc.record(
    {
      grpc: fc.boolean(),
      grpcWeb: fc.boolean(),
      connect: fc.constant(true),
      interceptors: fc.constantFrom([], [interceptor(log, "a")], [interceptor(log, "b")]),
      requestGate: fc.constantFrom(gate(log, "c"), gate(log, "d", true)),
      readMaxBytes: fc.constantFrom(50, 5000),
      writeMaxBytes: fc.constantFrom(50, 5000),
      acceptCompression: fc.constantFrom([], [compressionGzip]),
      compressMinBytes: fc.constantFrom(10, 5000),
      jsonOptions: fc.record({ ignoreUnknownFields: fc.boolean() }, { requiredKeys: [] }),
      requireConnectProtocolHeader: fc.boolean(),
      maxTimeoutMs: fc.constantFrom(1, 100_000),
      shutdownSignal: fc.constant(aborted),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(
      settings,
      fc.option(settings, { nil: undefined }),
      fc.constantFrom("service", "rpc"),
      async (router, own, as) => {
        const given = [() => router, own && (() => own), as] as unknown as Case;
        expect(await settled(gateway(given))).toEqual(await settled(stock(given)));
      },
    ),
  );
});

describe("REST", () => {
  // The same code runs as with Connect. The answer has the form of REST.
  const shared = rows.filter(([what]) => /interceptor|gate|shutdown/.test(what));

  test.each(shared)("with %s runs what Connect runs", async (_what, router, own) => {
    const given: Case = [router, own, "service"];
    const { probes: byConnect } = (await gateway(given)) as { probes: { ran: string[] }[] };
    const byRest = (await gatewayRest(given)) as { ran: string[]; what: string }[];
    const bothRead = ["plain", "long", "gzip back", "protocol header", "deadline", "empty"];
    for (const [i, { ran, what }] of byRest.entries()) {
      if (bothRead.includes(what)) expect(ran, what).toEqual(byConnect[i]?.ran);
    }
  });

  test.each<[what: string, router: Settings, own: Settings | undefined, statuses: object]>([
    ["readMaxBytes", () => ({ readMaxBytes: 50 }), undefined, { long: 413, plain: 200 }],
    ["a larger one", () => ({ readMaxBytes: 50 }), () => ({ readMaxBytes: 5000 }), { long: 200 }],
    ["gzip", () => ({ acceptCompression: gzip }), undefined, { gzip: 200 }],
    [
      "none for the service",
      () => ({ acceptCompression: gzip }),
      () => ({ acceptCompression: [] }),
      { gzip: 415 },
    ],
    ["no Connect protocol header", () => ({ requireConnectProtocolHeader: true }), none, {}],
    ["no gRPC and no Connect", () => ({ grpc: false, connect: false }), undefined, { plain: 200 }],
  ])("respects %s", async (_what, router, own, statuses) => {
    const results = (await gatewayRest([router, own, "service"])) as {
      what: string;
      status: number;
    }[];
    const byProbe = Object.fromEntries(results.map(({ what, status }) => [what, status]));
    expect(byProbe).toMatchObject(statuses);
  });

  test.each<[what: string, own: ConnectRouterOptions]>([
    ["acceptCompression", { acceptCompression: undefined } as never],
    ["readMaxBytes", { readMaxBytes: undefined } as never],
    ["interceptors", { interceptors: undefined } as never],
    ["jsonOptions", { jsonOptions: undefined } as never],
  ])("uses %s if the service sets it to undefined", async (_what, own) => {
    const given: Case = [() => ({ acceptCompression: gzip }), () => own, "service"];
    expect(await settled(gateway(given))).toEqual(await settled(stock(given)));
    for (const result of await gatewayRest(given)) {
      expect(result).toMatchObject({ status: expect.not.toSatisfy((n: number) => n >= 500) });
    }
  });
});
