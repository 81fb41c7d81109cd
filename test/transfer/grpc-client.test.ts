/**
 * What an import makes of the gRPC client's failures. answers.test.ts and liveness.test.ts of the
 * gateway have what servers may answer.
 */
import {
  constants,
  createServer,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer as createTcpServer, type Server } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { RetryInfoSchema } from "connect-gateway/protos";
import { describe, expect, test } from "vitest";
import { listen } from "../../packages/gateway/test/support/free-port.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { createPlantCreator, type PlantCreator } from "../../src/transfer/grpc-client.ts";
import { judge } from "../../src/transfer/verdict.ts";
import { plantOf } from "../store/plant-of.ts";
import { knownToken } from "../support/test-server.ts";

type Answer = (stream: ServerHttp2Stream) => void;

async function openCreator(server: Server, quietMsMax?: number) {
  const listener = await listen(server);
  const { url } = listener;
  const creator = createPlantCreator({ url, token: knownToken, ...(quietMsMax && { quietMsMax }) });
  return {
    ...{ url, creator },
    async [Symbol.asyncDispose]() {
      creator.close();
      await listener[Symbol.asyncDispose]();
    },
  };
}

function openFake(answer: Answer) {
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.resume();
    answer(stream);
  });
  return openCreator(server);
}

const grpcHead = { ":status": 200, "content-type": "application/grpc+proto" } as const;

/** As gRPC wants it: headers, an empty message, trailers. */
function answerWith(trailers: OutgoingHttpHeaders, head: OutgoingHttpHeaders = grpcHead): Answer {
  return (stream) => {
    stream.respond(head, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers(trailers));
    stream.end(Buffer.alloc(5));
  };
}

const failureOf = (creator: PlantCreator) =>
  within(
    "the failure of a call",
    creator.create(plantOf(1n)).then(
      () => expect.fail("the call went well"),
      (error: unknown) => error as ConnectError,
    ),
  );

const busy = new ConnectError("busy", Code.ResourceExhausted, undefined, [
  { desc: RetryInfoSchema, value: { retryDelay: { seconds: 2n, nanos: 5_000_000 } } },
]);
const busyStatus = Object.fromEntries(setTrailerStatus(new Headers(), busy));
const plainStatus = { "grpc-status": "14", "grpc-message": "back%20soon" };
const temporary = (reason: string, delayMs = 0) => ({ kind: "temporary", reason, delayMs });

describe("an answer that is an error means for its row what it should:", () => {
  test.each<[string, Answer, object]>([
    ["one with details, in trailers", answerWith(busyStatus), temporary("busy", 2005)],
    [
      "one without details, and with a time to wait among the headers",
      answerWith(plainStatus, { ...grpcHead, "retry-after": "3" }),
      temporary("back soon", 3000),
    ],
    [
      "an error page of a proxy",
      (stream) => {
        stream.respond({ ":status": 502, "content-type": "text/html" });
        stream.end("<h1>Bad Gateway</h1>".repeat(10_000));
      },
      temporary("HTTP status 502 with text/html, which is not gRPC"),
    ],
    [
      "no such page",
      (stream) => stream.respond({ ":status": 404 }, { endStream: true }),
      { kind: "fatal", reason: expect.stringMatching(/no plant store at the URL.*status 404/) },
    ],
    [
      "a call that was refused before it began",
      (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
      { kind: "temporary", reason: expect.stringContaining("REFUSED_STREAM") },
    ],
  ])("%s", async (_, answer, verdict) => {
    await using fake = await openFake(answer);
    expect(judge(await failureOf(fake.creator))).toMatchObject(verdict);
  });
});

test("the end of a creator ends its calls", async () => {
  await using fake = await openFake(() => fake.creator.close());
  expect(judge(await failureOf(fake.creator))).toMatchObject({ kind: "temporary" });
});

test("nobody at the port is told as that", async () => {
  const nobody = { url: "http://127.0.0.1:1", token: knownToken };
  const error = await failureOf(createPlantCreator(nobody));
  expect(judge(error)).toEqual(temporary("ECONNREFUSED"));
});

test("a server that takes a connection and says nothing", async () => {
  const server = createTcpServer((socket) => socket.resume());
  await using mute = await openCreator(server, 50);
  const verdict = { kind: "temporary", reason: "the server does not answer" };
  expect(judge(await failureOf(mute.creator))).toMatchObject(verdict);
});
