/** How an answer in messages is sent, and what ends it. */
import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { Exchange } from "../../src/http/exchange.ts";
import type { Cancellation, Message, StreamWire } from "../../src/rpc/call.ts";
import { sendMessages, untilAborted } from "../../src/rpc/streams.ts";
import { type EveryField, EveryFieldSchema } from "../gen/library/v1/fields_pb.ts";
import { createCall } from "../support/call-context.ts";
import { createMemoryExchange } from "../support/memory-exchange.ts";

interface Given {
  readonly exchange?: Partial<Exchange>;
  readonly wire?: Partial<StreamWire>;
  /** Of one message. */
  readonly write?: () => Promise<void> | undefined;
}

/** A stream whose steps are recorded. */
function openStream({ exchange: given = {}, wire: changes = {}, write }: Given = {}) {
  const steps: string[] = [];
  const exchange: Exchange = {
    ...createMemoryExchange(),
    begin({ header }) {
      steps.push(`head ${header["x-first"]}`);
      return {
        write(chunk) {
          steps.push(Buffer.from(chunk).toString());
          return write?.();
        },
        end: ({ error }) => void steps.push(`end ${error?.rawMessage}`),
      };
    },
    respond({ status, error }) {
      if (!exchange.isClosed) steps.push(`${status} ${error?.rawMessage}`);
    },
    breakOff: (error) => void steps.push(`broken off ${error?.rawMessage}`),
    ...given,
  };
  const textOf = (message: Message) => (message as EveryField).string;
  const wire: Partial<StreamWire> = {
    headDelayMs: () => undefined,
    fail: (_call, reason) => ({ status: 500, header: {}, body: "", error: reason as ConnectError }),
    head: (_call, first) => ({ status: 200, header: { "x-first": first && textOf(first) } }),
    chunk: (_call, message) => Buffer.from(textOf(message)),
    end: (_call, failure) => ({ error: failure?.error as ConnectError | undefined }),
    ...changes,
  };
  const context = createCall({ exchange, wire });
  const moved = () => void steps.push("moved");
  const send = (messages: AsyncIterable<Message>) =>
    sendMessages(context, { messages, trailer: context.responseTrailer, moved });
  return { steps, exchange, context, send };
}

const error = new ConnectError("no", Code.Aborted);

async function* messagesOf(...texts: readonly (string | Error)[]) {
  for (const text of texts) {
    if (text instanceof Error) throw text;
    yield create(EveryFieldSchema, { string: text });
  }
}

/** Messages that are never done, and whether the reader has left them. */
function endless(...texts: readonly string[]) {
  const first = messagesOf(...texts);
  const state = { isLeft: false };
  const messages: AsyncIterable<EveryField> = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const next = await first.next();
        return next.done ? new Promise(() => {}) : next;
      },
      async return() {
        state.isLeft = true;
        throw new Error("nobody waits for this");
      },
    }),
  };
  return { messages, state };
}

describe("an answer of messages", () => {
  const a = ["moved", "head a", "a"];
  test.each<[what: string, messages: readonly (string | Error)[], given: Given, steps: string[]]>([
    ["has them in order", ["a", "b"], {}, [...a, "moved", "b", "end undefined"]],
    [
      "has a head alone for HEAD",
      ["a", "b"],
      { exchange: { method: "HEAD" } },
      ["moved", "head a", "end undefined"],
    ],
    ["has no end for a client that is gone", [], { exchange: { isClosed: true } }, []],
  ])("%s", async (_what, messages, given, expected) => {
    const { steps, send } = openStream(given);
    await send(messagesOf(...messages));
    expect(steps).toEqual(expected);
  });

  test("has no message that is compressed when its call is given up", async () => {
    const packed = Promise.withResolvers<Uint8Array>();
    const { steps, send, context } = openStream({ wire: { chunk: () => packed.promise } });
    const sent = send(messagesOf("a"));
    await turn();
    context.abort(error);
    packed.resolve(Buffer.from("a"));
    await sent;
    await turn();
    expect(steps).toEqual(["moved", "500 no"]);
  });

  test("has no message that comes when its call is given up", async () => {
    const message = Promise.withResolvers<string>();
    async function* late() {
      yield* messagesOf("a");
      yield* messagesOf(await message.promise);
    }
    const { steps, send, context } = openStream();
    const sent = send(late());
    await turn();
    context.abort(error);
    message.resolve("b");
    await sent;
    await turn();
    expect(steps).toEqual([...a, "end no"]);
  });

  test("has no end for a client that has left meanwhile", async () => {
    const { messages, state } = endless("a");
    const { steps, send, exchange } = openStream();
    const sent = send(messages);
    await turn();
    Object.assign(exchange, { isClosed: true });
    exchange.call?.abort(error);
    await sent;
    expect(steps).toEqual([...a]);
    expect(state.isLeft).toBe(true);
  });

  test("of a call that was given up before is not begun", async () => {
    const { steps, send, context } = openStream();
    context.abort(error);
    await send(messagesOf("a"));
    expect(steps).toEqual(["500 no"]);
  });

  test.each([
    [
      "has its head when the implementation says so",
      { headDelayMs: () => 1000 },
      ["head undefined"],
    ],
    ["has not, where the head is that of a message", {}, []],
  ])("%s", async (_what, wire, expected) => {
    const { messages } = endless();
    const { steps, send, context } = openStream({ wire });
    const sent = send(messages);
    context.sendHead?.();
    context.sendHead?.();
    expect(steps).toEqual(expected);
    context.abort(error);
    await sent.catch(() => {});
  });
});

describe("what comes until a call is given up", () => {
  /** What gives it up, and how many listen to that. */
  function createCancellation() {
    const controller = new AbortController();
    const { signal } = controller;
    return {
      cancellation: signal as Cancellation,
      listening: () => getEventListeners(signal, "abort").length,
      abort: () => controller.abort(error),
    };
  }

  test("is passed on and told of, and then nobody listens", async () => {
    const { cancellation, listening } = createCancellation();
    let moved = 0;
    const texts: string[] = [];
    const items = untilAborted(messagesOf("a", "b"), cancellation, () => moved++);
    for await (const { string } of items) {
      texts.push(string);
      expect(listening()).toBe(1);
    }
    expect(texts).toEqual(["a", "b"]);
    expect(moved).toBe(2);
    expect(listening()).toBe(0);
  });

  test("fails as it does", async () => {
    const { cancellation, listening } = createCancellation();
    const items = untilAborted(messagesOf("a", error), cancellation);
    await items.next();
    await expect(items.next()).rejects.toBe(error);
    expect(listening()).toBe(0);
  });

  test.each([
    ["while something is awaited", endless("a")],
    ["where it ends because of that", { messages: messagesOf("a"), state: undefined }],
  ])("has the reason for an end, %s", async (_when, { messages, state }) => {
    const { cancellation, listening, abort } = createCancellation();
    const items = untilAborted(messages, cancellation);
    await items.next();
    const next = items.next();
    abort();
    await expect(next).rejects.toBe(error);
    expect(listening()).toBe(0);
    if (state !== undefined) expect(state.isLeft).toBe(true);
  });

  test("is not read where the call was given up before", async () => {
    const { cancellation, abort } = createCancellation();
    abort();
    const { messages } = endless();
    for (const items of [messagesOf("a"), messages]) {
      await expect(untilAborted(items, cancellation).next()).rejects.toBe(error);
    }
  });

  test("is left when its reader leaves", async () => {
    const { cancellation, listening } = createCancellation();
    const { messages, state } = endless("a");
    for await (const _ of untilAborted(messages, cancellation)) break;
    expect(state.isLeft).toBe(true);
    expect(listening()).toBe(0);
  });
});
