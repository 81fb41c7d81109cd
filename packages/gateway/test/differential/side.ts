/** An adapter that listens on HTTP/1.1 and HTTP/2, for one call after another. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { setTimeout as delay, setImmediate } from "node:timers/promises";
import type { GatewayHandler, NodeHandler } from "../../src/index.ts";
import { within } from "../support/within.ts";
import { type Case, printCase } from "./case.ts";
import type { WireResponse } from "./client.ts";
import { createHttp1Client } from "./http1-client.ts";
import { createHttp2Client } from "./http2-client.ts";
import { observeReason } from "./observation.ts";
import { type Outcome, outcomeOf } from "./outcome.ts";
import { around, createPlay, type ScriptedPlay } from "./play.ts";
import type { Play, Setup } from "./setup.ts";

export interface Side extends AsyncDisposable {
  run(given: Case): Promise<Outcome>;
  /** The number of calls served by the core API. */
  readonly streams: number;
}

export interface Reports {
  /** The handler reports a failure after which there may never be a response. */
  readonly failed: (reason: unknown) => void;
  /** The same for a handler that still answers. */
  readonly noted: (reason: unknown) => void;
}

export type CreateHandler = (
  setup: Setup,
  play: Play,
  reports: Reports,
) => NodeHandler | GatewayHandler;

/**
 * A response ends soon after its client has received it, with one exception: over HTTP/2, the
 * server's stream stays open if a rejection leaves a complete body unread.
 */
const endMs = 500;

/** A response, or an HTTP/2 stream of the core API. */
interface Answer {
  readonly headersSent: boolean;
  readonly destroyed: boolean;
  once(event: "close", listener: () => void): unknown;
  destroy(): void;
}

interface Running {
  readonly play: ScriptedPlay;
  readonly handler: NodeHandler | GatewayHandler;
  readonly reported: unknown[];
  /** Resolves if the handler has failed. */
  readonly failed: PromiseWithResolvers<void>;
  /** Resolves when the response has ended, complete or not. */
  readonly over: PromiseWithResolvers<void>;
  answer?: Answer;
  isUnanswered: boolean;
}

/** @param isCore Whether HTTP/2 uses the core API, if the handler supports it. */
export async function openSide(createHandler: CreateHandler, isCore = false): Promise<Side> {
  let running: Running | undefined;
  let streams = 0;
  const handlers = new Map<string, NodeHandler | GatewayHandler>();
  const listener: NodeHandler = (request, response) => {
    const answer = "stream" in response ? response.stream : response;
    begin(running, answer, ({ handler }) => handler(request, response));
  };
  const http1 = http.createServer(listener);
  // Longer than any pause between two cases.
  http1.keepAliveTimeout = 60_000;
  const http2Server = http2.createServer(listener);
  if (isCore)
    takeStreams(http2Server, (stream, headers) => {
      let isServed = false;
      begin(running, stream, ({ handler }) => {
        isServed = "serveStream" in handler && handler.serveStream(stream, headers);
      });
      if (isServed) streams++;
      return isServed;
    });
  const sessions = new Set<http2.ServerHttp2Session>();
  http2Server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const servers = [http1, http2Server];
  for (const server of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  const portOf = (server: http.Server | http2.Http2Server) =>
    (server.address() as AddressInfo).port;
  const overHttp1 = createHttp1Client(portOf(http1));
  const overHttp2 = createHttp2Client(portOf(http2Server));

  /** One adapter serves all cases with the same options. What it calls depends on the case. */
  function handlerOf(setup: Setup, shutdown: AbortController): NodeHandler | GatewayHandler {
    const current: Play = {
      shutdown,
      gate: (context) => running?.play.gate(context),
      implementation: (message, context) => running?.play.implementation(message, context),
      stream: (messages, context) => running?.play.stream(messages, context) ?? nothing(),
      interceptor: (index) => (next) => running?.play.interceptor(index)(next) ?? next,
    };
    const noted = (reason: unknown) => void running?.reported.push(reason);
    const failed = (reason: unknown) => {
      noted(reason);
      running?.failed.resolve();
    };
    const key = JSON.stringify(setup);
    const known = handlers.get(key);
    if (known !== undefined) return known;
    const handler = createHandler(setup, current, { failed, noted });
    // An aborted signal stays aborted, so its adapter cannot be used again.
    if (!key.includes("shutdownSignal")) handlers.set(key, handler);
    return handler;
  }

  return {
    get streams() {
      return streams;
    },
    async run(given) {
      const shutdown = new AbortController();
      const play = createPlay(given.script, shutdown);
      const state: Running = {
        play,
        handler: handlerOf(given.setup, shutdown),
        reported: [],
        failed: Promise.withResolvers(),
        over: Promise.withResolvers(),
        isUnanswered: false,
      };
      running = state;
      const client = given.request.http === "2" ? overHttp2 : overHttp1;
      const sent = client.send(given.request, play.called);
      try {
        const response = await answerTo(sent, state);
        if (state.answer !== undefined) await Promise.race([state.over.promise, delay(endMs)]);
        await within("the end of the implementation", play.settled());
        await afterwards();
        play.lookBack();
        const reported = state.reported.map((reason) => observeReason(reason));
        return outcomeOf(response, { ...state, seen: play.seen, reported });
      } catch (cause) {
        throw new Error(`${printCase(given)}\n${String(cause)}`, { cause });
      }
    },
    async [Symbol.asyncDispose]() {
      await overHttp1[Symbol.asyncDispose]();
      await overHttp2[Symbol.asyncDispose]();
      const closed = servers.map((server) => once(server, "close"));
      for (const server of servers) server.close();
      http1.closeAllConnections();
      for (const session of sessions) session.destroy();
      await Promise.all(closed);
    },
  };
}

async function* nothing() {}

function begin(
  running: Running | undefined,
  answer: Answer,
  serve: (running: Running) => void,
): void {
  if (running === undefined) throw new Error("a request that no case has sent");
  running.answer = answer;
  answer.once("close", running.over.resolve);
  try {
    around.run("the application's", () => serve(running));
  } catch (reason) {
    running.reported.push(new Error("thrown to the server", { cause: reason }));
    running.failed.resolve();
  }
}

type StreamListener = (
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  ...rest: unknown[]
) => void;

/** Serves streams before the server creates requests from them. */
function takeStreams(
  server: http2.Http2Server,
  serveStream: (...parameters: Parameters<StreamListener>) => boolean,
): void {
  const [makeRequest] = server.listeners("stream") as StreamListener[];
  if (makeRequest === undefined) throw new Error("node:http2 makes no requests of streams");
  server.removeAllListeners("stream");
  server.on("stream", (stream: http2.ServerHttp2Stream, headers, ...rest: unknown[]) => {
    if (!serveStream(stream, headers)) makeRequest.call(server, stream, headers, ...rest);
  });
}

/** If the handler has failed and has not begun a response, it never will. */
async function answerTo(sent: Promise<WireResponse>, state: Running): Promise<WireResponse> {
  await within("a response", Promise.race([sent, state.failed.promise]));
  await afterwards();
  const { answer } = state;
  if (answer !== undefined && !answer.destroyed && !answer.headersSent) {
    state.isUnanswered = true;
    answer.destroy();
  }
  return await sent;
}

/** Waits for the effects of what has happened. */
async function afterwards(): Promise<void> {
  for (let i = 0; i < 3; i++) await setImmediate();
}
