/** One span for each request, by the conventions, as a child of its caller's span. */

import type { HandlerContext } from "@connectrpc/connect";
import { propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AlwaysOffSampler,
  type ReadableSpan,
  type Sampler,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { ObservedRequest } from "../../src/index.ts";
import {
  callContextKey,
  createTracingObserver,
  type TracingObserverOptions,
} from "../../src/otel/tracing-observer.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { envelope } from "../support/envelope.ts";
import { addFailingServices } from "../support/failing-services.ts";
import { openGateway, type SentRequest, type TestGatewayOptions } from "../support/gateway.ts";
import { patienceMs } from "../support/within.ts";

/** A tracer that stores its spans. */
function recordSpans(sampler?: Sampler) {
  const ended: ReadableSpan[] = [];
  const processor: SpanProcessor = {
    onStart() {},
    onEnd: (span) => void ended.push(span),
    forceFlush: async () => {},
    shutdown: async () => {},
  };
  const provider = new TracerProvider({ spanProcessors: [processor], ...(sampler && { sampler }) });
  return {
    tracer: provider.getTracer("test"),
    /** Resolves to the ended spans once there are `count`. */
    async until(count: number): Promise<readonly ReadableSpan[]> {
      await vi.waitUntil(() => ended.length >= count, { timeout: patienceMs, interval: 1 });
      return ended;
    },
  };
}

interface DescribedCall {
  readonly request: SentRequest;
  /** The name of its span. */
  readonly name: string;
  readonly attributes: Readonly<Record<string, string | number>>;
}

function openLibrary(options: Partial<TestGatewayOptions>) {
  return openGateway({ routes: addFailingServices, mayFail: true, ...options });
}

type RpcProtocol = "grpc" | "grpc-web" | "connect";

/** A call of RPC: the attributes of its method are those of its end, too. */
function rpc(
  method: string,
  protocol: RpcProtocol,
  ending: Record<string, string>,
  request: Pick<SentRequest, "headers" | "body">,
): DescribedCall {
  const name = `library.v1.LibraryService/${method}`;
  const system = protocol === "connect" ? "connectrpc" : "grpc";
  return {
    name,
    request: { path: `/${name}`, ...request },
    attributes: { "rpc.system.name": system, "rpc.method": name, ...ending },
  };
}

function rest(method: string, route: string, status: number) {
  const { attributes } = uncalled(method, method, status);
  return { name: `${method} ${route}`, attributes: { ...attributes, "http.route": route } };
}

function uncalled(name: string, method: string, status: number) {
  const about = { "http.request.method": method, "http.response.status_code": status };
  return { name, attributes: { ...about, "url.scheme": "http" } };
}

function unary(method: string, protocol: RpcProtocol, ending: Record<string, string>) {
  const isConnect = protocol === "connect";
  const type = isConnect ? "application/json" : `application/${protocol}+json`;
  const body = isConnect ? "{}" : envelope("{}");
  return rpc(method, protocol, ending, { headers: { "content-type": type }, body });
}

function stream(title: "good" | "bad", protocol: RpcProtocol, ending: Record<string, string>) {
  const headers = { "content-type": `application/${protocol}+json` };
  return rpc("FollowBook", protocol, ending, {
    headers,
    body: envelope(JSON.stringify({ title })),
  });
}

const get = (path: string): SentRequest => ({ method: "GET", path });
const shelf = "/v1/{parent=shelves/*}/volumes:watch";

const describedCalls: readonly DescribedCall[] = [
  unary("GetLibrary", "grpc", { "rpc.status_code": "OK" }),
  unary("GetLibrary", "grpc-web", { "rpc.status_code": "OK" }),
  unary("GetLibrary", "connect", {}),
  { request: get("/v1/library?access_token=secret"), ...rest("GET", "/v1/library", 400) },
  { request: get("/v1/library"), ...rest("GET", "/v1/library", 200) },
  // Rejections are not failures of the service.
  unary("CloseLibrary", "grpc", { "rpc.status_code": "FAILED_PRECONDITION" }),
  unary("CloseLibrary", "connect", { "rpc.status_code": "failed_precondition" }),
  // These are failures of the service.
  unary("SearchBooks", "grpc-web", {
    "rpc.status_code": "DEADLINE_EXCEEDED",
    "error.type": "DEADLINE_EXCEEDED",
  }),
  unary("SearchBooks", "connect", {
    "rpc.status_code": "deadline_exceeded",
    "error.type": "deadline_exceeded",
  }),
  unary("AddBooks", "grpc", { "rpc.status_code": "UNKNOWN", "error.type": "UNKNOWN" }),
  // Streams, until their end.
  stream("good", "grpc", { "rpc.status_code": "OK" }),
  stream("bad", "grpc-web", { "rpc.status_code": "DATA_LOSS", "error.type": "DATA_LOSS" }),
  stream("bad", "connect", { "rpc.status_code": "data_loss", "error.type": "data_loss" }),
  { request: get("/v1/shelves/sf/volumes:watch"), ...rest("GET", shelf, 200) },
  {
    request: get("/v1/shelves/bad/volumes:watch"),
    name: `GET ${shelf}`,
    attributes: { ...rest("GET", shelf, 200).attributes, "error.type": "DATA_LOSS" },
  },
  // Nothing is called: the path may be anything.
  { request: get("/v1/secret"), ...uncalled("GET", "GET", 404) },
  { request: { method: "QUERY", path: "/v1/library" }, ...uncalled("QUERY", "QUERY", 405) },
  { request: { method: "PROPFIND", path: "/v1/library" }, ...uncalled("HTTP", "_OTHER", 405) },
  {
    request: {
      path: "/library.v1.LibraryService/Secret",
      headers: { "content-type": "application/grpc" },
    },
    name: "grpc",
    attributes: {
      "rpc.system.name": "grpc",
      "rpc.method": "_OTHER",
      "rpc.status_code": "UNIMPLEMENTED",
      "error.type": "UNIMPLEMENTED",
    },
  },
];

const propagator = new W3CTraceContextPropagator();
const traceId = "0af7651916cd43dd8448eb211c80319c";
const parentSpanId = "b7ad6b7169203331";
const traceparent = `00-${traceId}-${parentSpanId}-01`;

afterEach(() => propagation.disable());

function openTraced(
  { tracer }: ReturnType<typeof recordSpans>,
  gateway: Partial<TestGatewayOptions> = {},
  options: Partial<TracingObserverOptions> = {},
) {
  const observer = createTracingObserver({ tracer, propagator, ...options });
  return openLibrary({ observer, ...gateway });
}

const service = "/library.v1.LibraryService";
const as = (type: string) => ({ "content-type": type });
const body = envelope("{}");

const byProtocol: readonly [protocol: string, request: SentRequest][] = [
  ["REST", { method: "GET", path: "/v1/library" }],
  ["Connect", { path: `${service}/GetLibrary`, headers: as("application/json"), body: "{}" }],
  ["gRPC", { path: `${service}/GetLibrary`, headers: as("application/grpc+json"), body }],
  [
    "a stream of gRPC-Web",
    { path: `${service}/FollowBook`, headers: as("application/grpc-web+json"), body },
  ],
];

describe.each(["1.1", "2"] as const)("over HTTP/%s,", (version) => {
  test.each(describedCalls)("$name with $attributes (%#)", async (call) => {
    const spans = recordSpans();
    await using gateway = await openTraced(spans);
    await gateway.send({ version, ...call.request }).catch(() => {});
    const [span] = await spans.until(1);
    const failed = "error.type" in call.attributes;
    const route = call.attributes["http.route"];
    expect(span).toMatchObject({
      name: call.name,
      kind: SpanKind.SERVER,
      status: { code: failed ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      parentSpanContext: undefined,
    });
    expect(span?.attributes).toEqual({
      ...call.attributes,
      // A path with variables may contain anything.
      ...(route === "/v1/library" && { "url.path": route }),
      "server.address": "127.0.0.1",
      "server.port": Number(new URL(gateway.origin(version)).port),
      "network.peer.address": "127.0.0.1",
    });
  });

  test.each(byProtocol)("a span of %s is a child of its caller's", async (_, request) => {
    const spans = recordSpans();
    await using gateway = await openTraced(spans);
    const headers = { ...request.headers, traceparent, tracestate: "a=1,b=2" };
    await gateway.send({ version, ...request, headers });
    const [span] = await spans.until(1);
    expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.spanContext().traceState?.serialize()).toBe("a=1,b=2");
    expect(span?.parentSpanContext).toMatchObject({ spanId: parentSpanId, isRemote: true });
  });

  test.each([
    ["is malformed", `00-${traceId}-${parentSpanId}`],
    ["is all zero", `00-${"0".repeat(32)}-${parentSpanId}-01`],
    ["is there twice", `${traceparent}, ${traceparent}`],
  ])("a caller whose traceparent %s is ignored", async (_, wrong) => {
    const spans = recordSpans();
    await using gateway = await openTraced(spans);
    const headers = { traceparent: wrong };
    await gateway.send({ version, method: "GET", path: "/v1/library", headers });
    const [span] = await spans.until(1);
    expect(span?.parentSpanContext).toBeUndefined();
    expect(span?.spanContext().traceId).not.toBe(traceId);
  });
});

test("without its own propagator, it uses the globally registered one", async () => {
  const spans = recordSpans();
  const observer = createTracingObserver({ tracer: spans.tracer });
  await using gateway = await openLibrary({ observer });
  const sent = { method: "GET", path: "/v1/library", headers: { traceparent } };
  await gateway.send(sent);
  propagation.setGlobalPropagator(propagator);
  await gateway.send(sent);
  const [before, after] = await spans.until(2);
  expect(before?.spanContext().traceId).not.toBe(traceId);
  expect(after?.spanContext().traceId).toBe(traceId);
});

test.each(byProtocol)("an implementation has spans below that of a call by %s", async (...row) => {
  const [, request] = row;
  const spans = recordSpans();
  const span = ({ values }: HandlerContext) =>
    spans.tracer.startSpan("inner", {}, values.get(callContextKey)).end();
  await using gateway = await openTraced(spans, {
    routes: (router) => {
      router.service(LibraryService, {
        getLibrary(_, context) {
          span(context);
          return {};
        },
        async *followBook(book, context) {
          span(context);
          yield book;
        },
      });
    },
  });
  await gateway.send(request);
  const [inner, call] = await spans.until(2);
  expect(inner?.name).toBe("inner");
  expect(inner?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
});

test("below an unsampled call are its trace, so nothing is sampled there, and its baggage", async () => {
  const spans = recordSpans(new AlwaysOffSampler());
  const found: unknown[] = [];
  const requestGate = ({ values }: HandlerContext) => {
    const context = values.get(callContextKey);
    found.push(trace.getSpanContext(context), propagation.getBaggage(context)?.getAllEntries());
  };
  const { extract } = new W3CBaggagePropagator();
  const both: typeof extract = (context, ...from) =>
    extract(propagator.extract(context, ...from), ...from);
  await using gateway = await openTraced(spans, { requestGate }, { propagator: { extract: both } });
  const headers = { traceparent, baggage: "a=b" };
  await gateway.send({ method: "GET", path: "/v1/library", headers });
  expect(found).toMatchObject([{ traceId, traceFlags: 0 }, [["a", { value: "b" }]]]);
});

test.each([undefined, new AlwaysOffSampler()])("logs find the span of a call", async (sampler) => {
  const observer = createTracingObserver({ tracer: recordSpans(sampler).tracer, propagator });
  const found: (string | undefined)[] = [];
  await using gateway = await openLibrary({
    observer: {
      begin(request) {
        const observation = observer.begin(request);
        found.push(observer.spanContextOf(request)?.traceId);
        return observation;
      },
    },
  });
  await gateway.send({ method: "GET", path: "/v1/library", headers: { traceparent } });
  expect(found).toEqual([traceId]);
  expect(observer.spanContextOf({} as ObservedRequest)).toBeUndefined();
});

test("behind a proxy that terminates TLS, the scheme is https", async () => {
  const spans = recordSpans();
  await using gateway = await openTraced(spans, {}, { scheme: "https" });
  await gateway.send({ method: "GET", path: "/v1/library" });
  const [span] = await spans.until(1);
  expect(span?.attributes["url.scheme"]).toBe("https");
});

test.each([
  ["plants.example", { "server.address": "plants.example" }],
  ["a".repeat(253), { "server.address": "a".repeat(253) }],
  ["[::1]:8080", { "server.address": "[::1]", "server.port": 8080 }],
  [`${"a".repeat(254)}:80`, {}],
])("with the host %s, a span has %j", async (host, expected) => {
  const spans = recordSpans();
  await using gateway = await openTraced(spans);
  await gateway.send({ method: "GET", path: "/v1/library", headers: { host } });
  const [span] = await spans.until(1);
  const named = Object.entries(span?.attributes ?? {}).filter(([key]) => key.startsWith("server."));
  expect(Object.fromEntries(named)).toEqual(expected);
});

test("without a host, a span has none, and a failure has the status or the code", async () => {
  const spans = recordSpans();
  const request = { protocol: "rest", requestMethod: "GET", headers: {}, peerAddress() {} };
  const observer = createTracingObserver({ tracer: spans.tracer });
  const own = { ...request, pathTemplate: "/v1/*" }; // its path may contain anything
  const observation = observer.begin(own as unknown as ObservedRequest);
  observation?.end({ code: undefined, error: undefined, status: undefined });
  for (const protocol of ["rest", "connect"]) {
    const failing = observer.begin({ ...request, protocol } as unknown as ObservedRequest);
    failing?.end({ code: 13, error: undefined, status: 500 });
  }
  const [span, ...failed] = await spans.until(3);
  const { attributes } = rest("GET", "/v1/*", 200);
  expect({ ...span?.attributes, "http.response.status_code": 200 }).toEqual(attributes);
  expect(failed.map((one) => one.attributes["error.type"])).toEqual(["500", "internal"]);
});
