import type { Mutant } from "./mutant.ts";

/** What a server that is exposed to strangers might overlook. */
export const hostileMutants: readonly Mutant[] = [
  {
    name: "strangers: a body has no limit where its length is not told",
    file: "packages/gateway/src/http/read-body.ts",
    find: "if (this.#body.length + chunk.byteLength > bytesMax) throw tooLarge(undefined);",
    replace: "",
    campaign: "hostile",
  },
  {
    name: "strangers: the gate is skipped by REST",
    file: "packages/gateway/src/rpc/call.ts",
    find: `    const passed = options.requestGate?.(context);
    if (passed !== undefined) await passed;
    const request = `,
    replace: `    const isRest = context.protocolName === "rest";
    const passed = isRest ? undefined : options.requestGate?.(context);
    if (passed !== undefined) await passed;
    const request = `,
    campaign: "hostile",
  },
  {
    name: "strangers: a request of HTTP/2 may take for ever",
    file: "packages/gateway/src/server/http2.ts",
    find: "if (!stream.readableEnded) endLateRequest(stream, refusals);",
    replace: "",
    campaign: "hostile",
  },
  {
    name: "strangers: JSON that is not UTF-8 is mended",
    file: "packages/gateway/src/json/text.ts",
    find: "fatal: true",
    replace: "fatal: false",
    campaign: "hostile",
  },
  {
    name: "strangers: a key with escapes is read as one that somebody else has sent",
    file: "packages/gateway/src/json/text.ts",
    find: "escapedKeys.length === 0",
    replace: "escapedKeys.length >= 0",
    campaign: "test/e2e/strangers.test.ts",
  },
  {
    name: "strangers: of a member that comes twice the last is taken",
    file: "packages/gateway/src/json/text.ts",
    find: "if (countMembers(value) < members) throw duplicateIn(text);",
    replace: "if (countMembers(value) > members) throw duplicateIn(text);",
    campaign: "hostile",
  },
  {
    name: "strangers: Brotli is unpacked",
    file: "src/server/serve.ts",
    find: "acceptCompression: [compressionGzip],",
    replace: "",
    campaign: "hostile",
  },
  {
    name: "strangers: protobuf is not compared with its schema",
    file: "packages/gateway/src/rpc/codec.ts",
    find: "assertWireFormat(input, bytes);",
    replace: "",
    campaign: "packages/gateway/test/binary/wire-format.test.ts",
  },
  {
    name: "strangers: an id near 2^53 is rounded before it is looked at",
    file: "packages/gateway/src/json/plain-reader.ts",
    find: "10 * value + (byte - zero)",
    replace: "10 * value + byte - zero",
    campaign: "packages/gateway/test/json/plain-reader.test.ts",
  },
  {
    name: "strangers: a message may have any number of values",
    file: "src/server/serve.ts",
    find: "readMaxValues: messageValuesMax,",
    replace: "",
    campaign: "test/e2e/malformed-rpc.test.ts",
  },
  {
    name: "strangers: who leaves behind what nobody has read is kept",
    file: "packages/gateway/src/http/stream-exchange.ts",
    find: "  stream.destroy();\n",
    replace: "",
    campaign: "test/e2e/malformed-http2.test.ts",
  },
  {
    name: "strangers: requests may be taken back without end",
    file: "packages/gateway/src/server/http2.ts",
    find: "streamResetBurst: 1000,",
    replace: "streamResetBurst: 1_000_000,",
    campaign: "test/e2e/malformed-http2.test.ts",
  },
  {
    name: "strangers: plants of any size may wait",
    file: "src/store/waiting-room.ts",
    find: "this.#bytes + bytes <= this.#limits.waitingBytesMax",
    replace: "this.#bytes + bytes > 0",
    campaign: "test/store/group-commit-queue.test.ts",
  },
  {
    name: "strangers: nobody hears of the end of a request that waits",
    file: "packages/gateway/src/server/http2.ts",
    find: 'if (!turns.take(request)) stream.on("error", ignoreError);',
    replace: "turns.take(request);",
    campaign: "packages/gateway/test/server/turns.test.ts",
  },
  {
    name: "strangers: what was taken back is answered when its turn comes",
    file: "packages/gateway/src/server/http2.ts",
    find: "if (stream.destroyed || stream.closed) {",
    replace: "if (stream.destroyed && !stream.closed) {",
    campaign: "packages/gateway/test/server/turns.test.ts",
  },
  {
    name: "strangers: a request that ended before its turn is waited for",
    file: "packages/gateway/src/server/http2.ts",
    find: "if (request.stream.readableEnded) request.push(null);",
    replace: "",
    campaign: "packages/gateway/test/server/turns.test.ts",
  },
  {
    name: "strangers: a session of HTTP/2 begins when more has been read",
    file: "packages/gateway/src/server/port.ts",
    find: "handOver(socket, protocol);\n    });",
    replace: "setTimeout(handOver, 5, socket, protocol);\n    });",
    campaign: "packages/gateway/test/server/turns.test.ts",
  },
  {
    name: "strangers: connections that have ended are kept",
    file: "packages/gateway/src/server/http1.ts",
    find: 'socket.once("close", () => sockets.delete(socket));',
    replace: "",
    campaign: "packages/gateway/test/server/one-port.test.ts",
  },
  {
    name: "strangers: who takes nothing of an answer keeps its connection",
    file: "packages/gateway/src/server/http1.ts",
    find: "socket.writableLength > 0 && !socket.timeout",
    replace: "false",
    campaign: "packages/gateway/test/server/untaken-answers.test.ts",
  },
  {
    name: "strangers: all that was sent begins in one turn",
    file: "packages/gateway/src/server/intake.ts",
    find: "handleOf(socket)?.readStop?.();",
    replace: "",
    campaign: "packages/gateway/test/server/intake.test.ts",
  },
];
