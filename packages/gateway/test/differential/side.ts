/** An adapter that serves one call after another, and all that is seen of a call. */
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { setImmediate } from "node:timers/promises";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { type DescMessage, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import {
  ConnectError,
  type ConnectRouter,
  createContextKey,
  createContextValues,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import {
  type ConnectNodeAdapterOptions,
  compressionBrotli,
  compressionGzip,
} from "@connectrpc/connect-node";
import { StatusSchema } from "../../gen/google/rpc/status_pb.ts";
import type { GatewayHandler, NodeHandler } from "../../src/index.ts";
import { FieldService } from "../gen/library/v1/fields_pb.ts";
import { LibraryService } from "../gen/library/v1/library_pb.ts";
import { parseEnvelopes } from "../support/envelope.ts";
import { within } from "../support/within.ts";
import {
  createHttp1Client,
  createHttp2Client,
  type Field,
  type WireRequest,
  type WireResponse,
} from "./call.ts";

type Act = (
  next: Parameters<Interceptor>[0],
  request: Parameters<Parameters<Interceptor>[0]>[0],
) => ReturnType<Parameters<Interceptor>[0]>;

/** What the application does. Its texts contain `app`: texts of a library are not compared. */
export interface App {
  readonly gate?: (context: HandlerContext) => unknown;
  /** Of interceptors, the first is around the others. */
  readonly acts?: readonly Act[];
  /** For each message. Default: echo. */
  readonly implement?: (message: Message, context: HandlerContext, shutDown: () => void) => unknown;
}

/** Options that are data. */
type Plain = Omit<
  ConnectNodeAdapterOptions,
  "routes" | "acceptCompression" | "contextValues" | "fallback"
>;

/** The options of an adapter, as data. */
export interface Setup extends Readonly<Plain> {
  readonly acceptCompression?: readonly ("gzip" | "br")[];
  readonly contextValues?: "set" | "throws";
  readonly fallback?: boolean;
  readonly shutdown?: "open" | "aborted";
  /** Whether it has a gate and interceptors, which see every call. Default: where the case needs it. */
  readonly watched?: boolean;
  /** The options of the service. Each replaces that of the router. */
  readonly service?: Setup;
}

export interface Case {
  readonly setup: Setup;
  readonly app: App;
  readonly request: WireRequest;
}

export type Outcome = Readonly<Record<string, unknown>>;

export interface Side extends AsyncDisposable {
  run(given: Case): Promise<Outcome>;
}

/** @param failed The handler will not answer, and says why. */
export type CreateHandler = (
  options: ConnectNodeAdapterOptions,
  failed: () => void,
) => NodeHandler | GatewayHandler;

interface Running {
  readonly app: App;
  readonly handler: NodeHandler | GatewayHandler;
  readonly seen: object[];
  readonly shutdown: AbortController;
  readonly called: PromiseWithResolvers<void>;
  readonly over: Promise<unknown>[];
  answer?: { readonly headersSent: boolean; destroy(): unknown };
}

export const valueKey = createContextKey("default");

/** What surrounds a handler must reach all that it calls. */
const around = new AsyncLocalStorage<string>();

const compressions = { gzip: compressionGzip, br: compressionBrotli };

/** @param isCore Whether HTTP/2 is served by the core API. */
export async function openSide(create: CreateHandler, isCore = false): Promise<Side> {
  let running: Running | undefined;
  const handlers = new Map<string, NodeHandler | GatewayHandler>();
  const current = () => running as Running;
  const serve: NodeHandler = (request, response) => {
    current().answer = response;
    begin(() => current().handler(request, response));
  };
  const begin = (run: () => unknown) => {
    try {
      around.run("set", run);
    } catch {
      current().seen.push({ at: "the server", thrown: true });
      current().answer?.destroy();
    }
  };
  const http1 = http.createServer(serve);
  const http2Server = http2.createServer(serve);
  if (isCore) {
    const [compat] = http2Server.listeners("stream");
    http2Server.removeAllListeners("stream");
    http2Server.on("stream", (stream: http2.ServerHttp2Stream, headers, flags, raw) => {
      current().answer = stream;
      begin(() => {
        const { handler } = current();
        if ("serveStream" in handler && handler.serveStream(stream, headers, raw as never)) return;
        compat?.call(http2Server, stream, headers, flags, raw);
      });
    });
  }
  const ports: number[] = [];
  for (const server of [http1, http2Server]) {
    await once(server.listen(0, "127.0.0.1"), "listening");
    ports.push((server.address() as AddressInfo).port);
  }
  const [one = 0, two = 0] = ports;
  const clients = { "1.1": createHttp1Client(one), "2": createHttp2Client(two) };

  function failed(): void {
    const { answer } = current();
    void afterwards().then(() => !answer?.headersSent && answer?.destroy());
  }

  function handlerOf(setup: Setup, shutdown: AbortController): Running["handler"] {
    const key = JSON.stringify(setup);
    const known = handlers.get(key);
    if (known !== undefined) return known;
    const handler = create(optionsOf(setup, current, shutdown), failed);
    if (setup.shutdown === undefined) handlers.set(key, handler);
    return handler;
  }

  return {
    async run({ setup, app, request }) {
      const shutdown = new AbortController();
      if (setup.shutdown === "aborted") shutdown.abort(new Error("app shuts down"));
      const handler = handlerOf(setup, shutdown);
      const called = Promise.withResolvers<void>();
      running = { app, handler, seen: [], shutdown, called, over: [] };
      const client = clients[request.http === "2" ? "2" : "1.1"];
      const what = `${request.method} ${request.path}`;
      const response = await within(what, client.send(request, called.promise), 10_000);
      await within(`the implementation of ${what}`, Promise.allSettled(running.over));
      await afterwards();
      return outcomeOf(response, running.seen);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(Object.values(clients).map((client) => client[Symbol.asyncDispose]()));
      for (const server of [http1, http2Server]) server.close();
      http1.closeAllConnections();
    },
  };
}

/** Waits for the effects of what has happened. */
async function afterwards(): Promise<void> {
  for (let i = 0; i < 3; i++) await setImmediate();
}

function optionsOf(
  setup: Setup,
  current: () => Running,
  shutdown: AbortController,
): ConnectNodeAdapterOptions {
  const { contextValues, fallback } = setup;
  return {
    ...routerOptions(setup, current, shutdown),
    ...(contextValues && {
      contextValues: () => {
        if (contextValues === "throws") throw new Error("app");
        return createContextValues().set(valueKey, "of the server");
      },
    }),
    ...(fallback && {
      fallback: (_request, response) => {
        response.writeHead(418);
        response.end("the fallback");
      },
    }),
    routes: (router) => register(router, setup, current, shutdown),
  };
}

function routerOptions(setup: Setup, current: () => Running, shutdown: AbortController) {
  const { watched, acceptCompression, shutdown: kind, ...others } = setup;
  const { contextValues: _values, fallback: _fallback, service: _service, ...plain } = others;
  const interceptor = (i: number): Interceptor => {
    return (next) => (request) => intercept(current(), i, next, request);
  };
  return {
    ...plain,
    ...(acceptCompression && {
      acceptCompression: acceptCompression.map((name) => compressions[name]),
    }),
    ...(watched && {
      requestGate: (context: HandlerContext) => {
        current().seen.push({ at: "gate", ...contextSeen(context) });
        return current().app.gate?.(context) as void | Promise<void>;
      },
      interceptors: [interceptor(0), interceptor(1)],
    }),
    ...(kind && { shutdownSignal: shutdown.signal }),
  };
}

const look: Act = (next, request) => next(request);

async function intercept(
  { app, seen }: Running,
  i: number,
  next: Parameters<Interceptor>[0],
  request: Parameters<Act>[1],
) {
  const { header, stream, contextValues, requestMethod, url } = request;
  const message = stream ? "stream" : hexOf(request.method.input, request.message);
  const values = { value: contextValues.get(valueKey), requestMethod, url: withoutPort(url) };
  seen.push({ at: `interceptor ${i}`, message, header: fieldsOf(header), ...values });
  const response = await (app.acts?.[i] ?? look)(next, request);
  const told = {
    header: fieldsOf(response.header),
    trailer: response.stream ? "later" : fieldsOf(response.trailer),
  };
  const answer = response.stream ? "stream" : hexOf(response.method.output, response.message);
  seen.push({ at: `interceptor ${i}, answered`, ...told, message: answer });
  return response;
}

function register(
  router: ConnectRouter,
  setup: Setup,
  current: () => Running,
  shutdown: AbortController,
): void {
  const own = setup.service && routerOptions(setup.service, current, shutdown);
  const implement = (call: Running, message: Message, context: HandlerContext) => {
    const shutDown = () => call.shutdown.abort(new Error("app shuts down"));
    return call.app.implement ? call.app.implement(message, context, shutDown) : message;
  };
  const unary = (message: Message, context: HandlerContext) => {
    const call = enter(current(), context, hexOf(context.method.input, message));
    const answer = implement(call, message, context);
    if (answer instanceof Promise) call.over.push(answer);
    return answer;
  };
  async function* exchange(messages: AsyncIterable<Message>, context: HandlerContext) {
    const call = enter(current(), context);
    const over = Promise.withResolvers<void>();
    call.over.push(over.promise);
    try {
      for await (const message of messages) {
        call.seen.push({ at: "message", hex: hexOf(context.method.input, message) });
        yield (await implement(call, message, context)) as Message;
      }
    } finally {
      over.resolve();
    }
  }
  async function* only(message: Message) {
    yield message;
  }
  const streams = {
    exchange,
    async *repeat(message: Message, context: HandlerContext) {
      for await (const answer of exchange(only(message), context)) yield* [answer, answer];
    },
    async collect(messages: AsyncIterable<Message>, context: HandlerContext) {
      let last: unknown = {};
      for await (const answer of exchange(messages, context)) last = answer;
      return last;
    },
  };
  router.service(FieldService, { echo: unary, ...streams } as never, own);
  router.rpc(LibraryService.method.updateLibrary, unary as never, own);
}

function enter(call: Running, context: HandlerContext, message?: string): Running {
  const seen = { ...contextSeen(context), around: around.getStore(), message };
  call.seen.push({ at: "implementation", ...seen });
  context.values.set(valueKey, "of the implementation");
  call.called.resolve();
  return call;
}

/** Copied, as applications do. */
function contextSeen(context: HandlerContext): object {
  const copy = { ...context };
  return {
    protocol: copy.protocolName,
    method: `${copy.requestMethod} ${copy.service.typeName}/${copy.method.name}`,
    url: withoutPort(copy.url),
    header: fieldsOf(copy.requestHeader),
    set: [copy.responseHeader, copy.responseTrailer].map((headers) =>
      fieldsOf(headers).filter((field) => !ourCodings.test(field)),
    ),
    timeout: roughly(copy.timeoutMs()),
    value: copy.values.get(valueKey),
    isAborted: copy.signal.aborted,
  };
}

/** The remaining time depends on the machine. */
function roughly(timeoutMs: number | undefined): string {
  if (timeoutMs === undefined) return "none";
  return timeoutMs < 1000 ? "soon" : `about ${Math.round(timeoutMs / 20_000) * 20} s`;
}

export function reasonOf(reason: unknown): unknown {
  return reason instanceof ConnectError ? reason.code : (reason as Error | undefined)?.name;
}

function hexOf(desc: DescMessage, message: unknown): string {
  try {
    return Buffer.from(toBinary(desc, message as never)).toString("hex");
  } catch {
    return `not a message: ${typeof message}`;
  }
}

function fieldsOf(headers: Headers): string[] {
  return [...headers].map(([name, value]) => `${name}: ${withoutPort(value)}`);
}

function withoutPort(text: string): string {
  return text.replaceAll(/127\.0\.0\.1:\d+/g, "host");
}

/** Of the connection, of the clock, and lengths, which the client has checked. */
const leftOut = /^(date|connection|keep-alive|transfer-encoding|content-length)$/;

/** Ours lists compressions in the error of an unknown one, and says `vary` of a GET, for caches. */
const ourCodings = /^(grpc-|connect-)?accept-encoding: (gzip,br)?$/;
const ourVary = /^accept-encoding$|, accept-encoding$/;

/**
 * Ours ends a call of gRPC that fails before its first message by headers alone, as retries need. So
 * trailers that no body precedes are compared as headers.
 */
function outcomeOf(response: WireResponse, seen: readonly object[]): Outcome {
  const { status, headers, body, trailers, isWhole } = response;
  const isGrpc = headers.some(
    ([name, value]) => name === "content-type" && /^application\/grpc/.test(value),
  );
  const isOnly = isGrpc && body.length === 0;
  const all = isOnly ? [...headers, ...trailers] : headers;
  const told = byName(
    isOnly ? all.filter(([name]) => !/^(grpc-.*encoding|trailer)$/.test(name)) : all,
  );
  return {
    ...{ status, isWhole, headers: told, trailers: isOnly ? {} : byName(trailers) },
    body: bodyOf(body, Object.fromEntries(headers)),
    seen,
  };
}

function byName(fields: readonly Field[]): Record<string, string[]> {
  const told = fields
    .map(([name, value]) => [name, name === "vary" ? value.replace(ourVary, "") : value] as const)
    .filter(([name, value]) => !leftOut.test(name) && !isWords(name, value))
    .filter((field) => !ourCodings.test(field.join(": ")))
    .filter(([name, value]) => name !== "vary" || value !== "");
  const found = Map.groupBy(told, ([name]) => name);
  return Object.fromEntries(
    [...found].map(([name, all]) => [name, all.map((field) => fieldValue(...field)).toSorted()]),
  );
}

function fieldValue(name: string, value: string): string {
  if (name === "grpc-message") return ownText(decode(value));
  if (name !== "grpc-status-details-bin") return value;
  try {
    const { code, message, details } = fromBinary(StatusSchema, Buffer.from(value, "base64"));
    const list = details.map(({ typeUrl, value: bytes }) => [
      typeUrl,
      Buffer.from(bytes).toString("hex"),
    ]);
    return JSON.stringify([code, ownText(message), list]);
  } catch {
    return value;
  }
}

/** Details in which a library explains its error. */
function isWords(name: string, value: string): boolean {
  return name === "grpc-status-details-bin" && !Buffer.from(value, "base64").includes("app");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function ownText(text: string): string {
  return text.includes("app") ? text : "a text of the library";
}

function bodyOf(body: Buffer, headers: Readonly<Record<string, string>>): unknown {
  if (!/^application\/(grpc|connect\+)/.test(headers["content-type"] ?? "")) {
    return body.length === 0 ? "" : plain(unpack(body, headers["content-encoding"]));
  }
  const encoding = headers["grpc-encoding"] ?? headers["connect-content-encoding"];
  try {
    return parseEnvelopes(body).map(({ flags, message }) => {
      const bytes = unpack(message, (flags & 1) === 1 ? encoding : undefined);
      return [flags, (flags & 0x80) !== 0 ? trailersIn(bytes.toString()) : plain(bytes)];
    });
  } catch {
    return body.toString("hex");
  }
}

function trailersIn(text: string): object {
  const lines = text.split("\r\n").filter((line) => line !== "");
  return byName(
    lines.map((line): Field => {
      const [, name = "", value = ""] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
      return [name, value];
    }),
  );
}

function unpack(bytes: Buffer, encoding = "identity"): Buffer {
  if (encoding === "gzip") return gunzipSync(bytes);
  return encoding === "br" ? brotliDecompressSync(bytes) : bytes;
}

/** Of an error of a library, only its code: the rest is words. */
function plain(bytes: Buffer): unknown {
  const text = bytes.toString("latin1");
  const [, code] = /"code":"?(\w+)/.exec(text) ?? [];
  return code === undefined || text.includes("app") ? text : code;
}
