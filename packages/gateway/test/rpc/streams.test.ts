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

/** A stream whose steps are recorded. */
function openStream(changes: Partial<StreamWire> = {}) {
  const steps: string[] = [];
  const exchange: Exchange = {
    ...createMemoryExchange(),
    begin({ header }) {
      steps.push(`head ${header["x-first"]}`);
      return {
        write: (chunk) => void steps.push(Buffer.from(chunk).toString()) as undefined,
        end: ({ error }) => void steps.push(`end ${error?.rawMessage}`),
      };
    },
    respond: ({ status, error }) => void steps.push(`${status} ${error?.rawMessage}`),
  };
  const textOf = (message: Message) => (message as EveryField).string;
  const wire: Partial<StreamWire> = {
    needsMessage: () => true,
    fail: (_call, reason) => ({ status: 500, header: {}, body: "", error: reason as ConnectError }),
    head: (_call, first) => ({ status: 200, header: { "x-first": first && textOf(first) } }),
    chunk: (_call, message) => Buffer.from(textOf(message)),
    end: (_call, failure) => ({ error: failure?.error as ConnectError | undefined }),
    ...changes,
  };
  const context = createCall({ exchange, wire });
  const send = (messages: AsyncIterable<Message>) =>
    sendMessages(context, { messages, trailer: context.responseTrailer });
  return { steps, context, send };
}

const error = new ConnectError("no", Code.Aborted);

async function* messagesOf(...texts: readonly string[]) {
  for (const string of texts) yield create(EveryFieldSchema, { string });
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
  test("has no message that is compressed when its call is given up", async () => {
    const packed = Promise.withResolvers<Uint8Array>();
    const { steps, send, context } = openStream({ chunk: () => packed.promise });
    const sent = send(messagesOf("a"));
    await turn();
    context.abort(error);
    packed.resolve(Buffer.from("a"));
    await sent;
    await turn();
    expect(steps).toEqual(["500 no"]);
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
    expect(steps).toEqual(["head a", "a", "end no"]);
  });

  test("leaves others their turn, who may end it, if all are there at once", async () => {
    const { steps, send, context } = openStream();
    setImmediate(() => context.abort(error));
    await send(messagesOf(...Array(100_000).fill("a")));
    expect(steps.at(-1)).toBe("end no");
  });

  test.each([
    ["has its head when that is said", { needsMessage: () => false }, ["head undefined"]],
    ["has not, where the head is that of a message", {}, []],
  ])("%s", async (_what, wire, expected) => {
    const { messages } = endless();
    const { steps, send, context } = openStream(wire);
    const sent = send(messages);
    context.sendHead?.();
    context.sendHead?.();
    expect(steps).toEqual(expected);
    context.abort(error);
    await sent.catch(() => {});
  });
});

test("what is read until its call is given up leaves no listener", async () => {
  const signal = new AbortController().signal as AbortSignal & Cancellation;
  const listening = () => getEventListeners(signal, "abort").length;
  const texts: string[] = [];
  for await (const { string } of untilAborted(messagesOf("a", "b"), signal)) {
    texts.push(string);
    expect(listening()).toBe(1);
  }
  expect([texts, listening()]).toEqual([["a", "b"], 0]);
  const { messages, state } = endless("a");
  for await (const _ of untilAborted(messages, signal)) break;
  expect([state.isLeft, listening()]).toEqual([true, 0]);
});
