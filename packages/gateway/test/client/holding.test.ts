/** Answers count in the budget of the caller for whom a call is made. */
import { constants, type ServerHttp2Stream } from "node:http2";
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { BodyBudget, Holding } from "../../src/http/body-budget.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { patienceMs, within } from "../support/within.ts";
import { failureOf, grpcHead, openFakeServer } from "./fake-server.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
/** An unknown field of 300 KiB. */
const field = Buffer.concat([Buffer.of(0xfa, 0x01, 0x80, 0xe0, 0x12), Buffer.alloc(300 * KiB)]);
const body = Buffer.from(wrapEnvelope(0, field));

/** A caller whose address already holds some bytes, and a server that it calls. */
async function openCaller(heldBytes: number, answer: (stream: ServerHttp2Stream) => void) {
  const budget = new BodyBudget({ bytesMax: MiB });
  const who = { peerAddress: "10.0.0.1", headers: {} };
  const older = new Holding(budget, who);
  if (heldBytes > 0) void older.add(heldBytes);
  const holding = new Holding(budget, who);
  const fake = await openFakeServer((stream) => answer(stream));
  const cancellation = Object.assign(new AbortController().signal, { holding });
  return { ...fake, budget, older, holding, cancellation };
}

function respond(stream: ServerHttp2Stream, repeat = 1) {
  stream.respond(grpcHead, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
  // More than a window, so that the end of the answer is still to come.
  for (let i = 0; i < repeat; i++) stream.write(body);
  stream.end();
}

async function openHeld(heldBytes: number, repeat?: number) {
  const caller = await openCaller(heldBytes, (stream) => respond(stream, repeat));
  const { getVolume } = CatalogService.method;
  const { transport, cancellation } = caller;
  return { ...caller, answer: transport.unary(getVolume, cancellation, undefined, undefined, {}) };
}

test("an answer counts until its exchange ends", async () => {
  await using held = await openHeld(0);
  await within("the answer", held.answer);
  expect(held.budget.heldBytes).toBe(body.length);
  held.holding.release();
  expect(held.budget.heldBytes).toBe(0);
});

test("an answer that finds no room waits until there is", async () => {
  await using held = await openHeld(500 * KiB);
  await vi.waitUntil(() => held.budget.waiting > 0, patienceMs);
  const soFar = held.holding.bytes;
  held.older.release();
  await within("the answer", held.answer);
  expect(soFar).toBeLessThan(body.length);
  expect(held.budget.heldBytes).toBe(body.length);
});

test("an answer that cannot wait ends its call, here and at the server, which is not called again", async () => {
  await using held = await openHeld(850 * KiB, 100);
  expect(await failureOf(held.answer)).toMatchObject({ code: Code.Internal, details: [] });
  expect(await held.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
});

test("an answer whose exchange ends while it waits ends its call", async () => {
  await using held = await openHeld(500 * KiB, 100);
  await vi.waitUntil(() => held.budget.waiting > 0, patienceMs);
  const failed = expect(held.answer).rejects.toMatchObject({ code: Code.Canceled });
  held.holding.release();
  await failed;
  expect(await held.untilClosed()).toBe(constants.NGHTTP2_CANCEL);
});

describe("a message that is sent", () => {
  const parent = "a".repeat(100 * KiB);
  const more = 100 * KiB;

  test.each(["unary", "stream"] as const)("counts, and waits for room: %s", async (kind) => {
    const received: number[] = [];
    await using held = await openCaller(500 * KiB, (stream) => {
      stream.on("data", () => received.push(held.budget.heldBytes));
      stream.on("end", () => respond(stream));
    });
    const { listVolumes, importVolumes } = CatalogService.method;
    async function* messages() {
      yield { parent };
      yield { parent };
    }
    const { transport, cancellation } = held;
    const answer: Promise<unknown> =
      kind === "unary"
        ? transport.unary(listVolumes, cancellation, undefined, undefined, { parent })
        : transport.stream(importVolumes, cancellation, undefined, undefined, messages());
    await vi.waitUntil(() => held.budget.waiting > 0, patienceMs);
    expect(received).toEqual([]);
    held.older.release();
    await within("the answer", answer);
    const most = Math.max(...received);
    expect(most).toBeGreaterThan(more);
    expect(most).toBeLessThan(2 * more);
  });
});
