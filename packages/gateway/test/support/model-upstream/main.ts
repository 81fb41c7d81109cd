/**
 * The model upstream, a process of its own: `main.ts HOST PORT`. It answers each call as the call says,
 * tells its id, and does to all its connections what it is told by messages.
 */
import * as http2 from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ErrorInfoSchema } from "../../../gen/google/rpc/error_details_pb.ts";
import { StatusSchema } from "../../../gen/google/rpc/status_pb.ts";
import { EnvelopeSplitter } from "../../../src/rpc/envelope.ts";
import { EveryFieldSchema } from "../../gen/library/v1/fields_pb.ts";
import { envelope } from "../envelope.ts";
import { type AnswerPlan, messageOf, type Planned } from "./answer.ts";
import type { ConnectionFault } from "./fault.ts";

const [host = "", port = ""] = process.argv.slice(2);
const sessions = new Set<http2.ServerHttp2Session>();
const sockets = new Set<Socket>();
/** The last stream that a session has said it looks at. */
const lastStreamIds = new WeakMap<object, number>();

const server = http2.createServer({ maxSendHeaderBlockLength: 2 ** 22 });
server.on("connection", (socket: Socket) => {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket)).on("error", () => {});
});
server.on("sessionError", () => {});
server.on("session", (session) => {
  sessions.add(session);
  session.on("close", () => sessions.delete(session)).on("error", () => {});
});
server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
  stream.on("error", () => {});
  // Node still takes those that come before its GOAWAY has left.
  if (Number(stream.id) > (lastStreamIds.get(stream.session ?? stream) ?? Infinity)) {
    stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
    return;
  }
  void serve(stream, `${headers[":path"]}`.split("/").at(-1) ?? "");
});
server.listen(Number(port), host, () => process.send?.((server.address() as AddressInfo).port));

process.on("message", (fault: ConnectionFault) => inject(fault));

function inject(fault: ConnectionFault): void {
  switch (fault) {
    case "goaway":
      for (const session of sessions) leave(session);
      break;
    case "goaway twice":
      for (const session of sessions) {
        session.goaway(0, 2 ** 31 - 1);
        void setTimeout(20).then(() => !session.destroyed && leave(session));
      }
      break;
    case "garbage":
      for (const socket of sockets) socket.write(Buffer.alloc(64, 0xa5));
      break;
    case "cut":
      for (const socket of sockets) socket.destroy();
      break;
    case "silence":
      for (const socket of sockets) stopReading(socket);
      break;
    case "no streams":
      for (const session of sessions) session.settings({ maxConcurrentStreams: 0 });
      void setTimeout(200).then(() => {
        for (const session of sessions) session.settings({ maxConcurrentStreams: 1000 });
      });
      break;
    case "few streams":
      for (const session of sessions) session.settings({ maxConcurrentStreams: 2 });
      break;
  }
}

/** To pause a socket does nothing once its session of HTTP/2 reads from below it. */
function stopReading(socket: Socket & { readonly _handle?: { readStop(): void } | null }): void {
  socket._handle?.readStop();
}

function leave(session: http2.ServerHttp2Session): void {
  lastStreamIds.set(session, session.state.lastProcStreamID ?? 0);
  session.goaway(0);
}

/** All messages of a call say the same. */
async function serve(stream: http2.ServerHttp2Stream, method: string): Promise<void> {
  const splitter = new EnvelopeSplitter(2 ** 20);
  let asked: string | undefined;
  let count = 0;
  try {
    for await (const chunk of stream) {
      void splitter.push(chunk);
      for (let one = splitter.next(); one !== undefined; one = splitter.next()) {
        asked ??= fromBinary(EveryFieldSchema, one.data).string;
        count++;
      }
    }
  } catch {
    return; // the caller has left
  }
  if (asked === undefined || stream.destroyed) return;
  const planned: Planned = JSON.parse(asked);
  const answers = method === "Repeat" ? 2 : method === "Exchange" ? count : 1;
  process.send?.(planned.id);
  await answer(stream, planned, answers);
}

const head = { ":status": 200, "content-type": "application/grpc" } as const;

async function answer(stream: http2.ServerHttp2Stream, { id, plan }: Planned, answers: number) {
  if ("afterMs" in plan && plan.afterMs > 0) await setTimeout(plan.afterMs);
  if (stream.destroyed) return;
  const message = toBinary(EveryFieldSchema, create(EveryFieldSchema, { string: id }));
  const body = Buffer.concat(Array.from({ length: answers }, () => envelope(message)));
  switch (plan.kind) {
    case "success":
      return respond(stream, { body, trailers: { "grpc-status": "0" } });
    case "large success":
      return respond(stream, {
        body,
        trailers: { "grpc-status": "0", "x-large": "v".repeat(100_000) },
      });
    case "no status":
      stream.respond(head);
      stream.end(body);
      return;
    case "reset":
      stream.close(plan.reset);
      return;
    case "error": {
      const trailers = trailersOf(plan, id);
      if (plan.oddity === "trailers only") {
        stream.respond({ ...head, ...trailers }, { endStream: true });
        return;
      }
      const early = plan.oddity === "early status" ? { "grpc-status": "0" } : {};
      return respond(stream, { body: Buffer.alloc(0), trailers, early });
    }
  }
}

function respond(
  stream: http2.ServerHttp2Stream,
  {
    body,
    trailers,
    early = {},
  }: { body: Buffer; trailers: Record<string, string>; early?: Record<string, string> },
): void {
  stream.respond({ ...head, ...early }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(body);
}

function trailersOf(plan: AnswerPlan & { kind: "error" }, id: string): Record<string, string> {
  const message = messageOf(plan, id);
  const details = (code: number) =>
    Buffer.from(
      toBinary(
        StatusSchema,
        create(StatusSchema, {
          ...{ code, message: "of the details" },
          details: [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: id }))],
        }),
      ),
    ).toString("base64");
  return {
    "grpc-status": `${plan.code}`,
    // Not as it should be: with a bare percent sign.
    "grpc-message": message,
    ...(plan.oddity === "wrong details" && { "grpc-status-details-bin": "!" }),
    ...(plan.oddity === "other code in details" && {
      "grpc-status-details-bin": details((plan.code % 16) + 1),
    }),
    ...(plan.oddity === "large trailer" && { "x-large": "v".repeat(100_000) }),
  };
}
