/** The cases of gRPC's interop tests, as a client: https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import type { GrpcTransport } from "connect-gateway/client";
import type { StreamingOutputCallRequestSchema } from "./gen/grpc/testing/messages_pb.ts";
import { TestService, UnimplementedService } from "./gen/grpc/testing/test_pb.ts";

const requestSizes = [27182, 8, 1828, 45904];
const responseSizes = [31415, 9, 2653, 58979];
const echoed = { code: Code.Unknown as number, message: "test status message" };
const special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
const initialName = "x-grpc-test-echo-initial";
const trailingName = "x-grpc-test-echo-trailing-bin";

const payloadOf = (size: number) => ({ body: new Uint8Array(size) });

export const cases: Readonly<Record<string, (transport: GrpcTransport) => Promise<void>>> = {
  async empty_unary(transport) {
    await clientOf(transport).emptyCall({});
  },

  async large_unary(transport) {
    const request = { responseSize: 314159, payload: payloadOf(271828) };
    const { payload } = await clientOf(transport).unaryCall(request);
    assert.equal(payload?.body.length, 314159);
  },

  async client_streaming(transport) {
    async function* requests() {
      for (const size of requestSizes) yield { payload: payloadOf(size) };
    }
    const answer = await clientOf(transport).streamingInputCall(requests());
    assert.equal(answer.aggregatedPayloadSize, 74922);
  },

  async server_streaming(transport) {
    const responseParameters = responseSizes.map((size) => ({ size }));
    const sizes: number[] = [];
    for await (const { payload } of clientOf(transport).streamingOutputCall({
      responseParameters,
    })) {
      sizes.push(payload?.body.length ?? 0);
    }
    assert.deepEqual(sizes, responseSizes);
  },

  async ping_pong(transport) {
    const call = openDuplex(transport);
    for (const [index, size] of responseSizes.entries()) {
      const payload = payloadOf(requestSizes[index] ?? 0);
      void call.requests.write({ responseParameters: [{ size }], payload });
      assert.equal((await call.next()).value?.payload?.body.length, size);
    }
    call.requests.close();
    assert.equal((await call.next()).done, true);
  },

  async empty_stream(transport) {
    const call = openDuplex(transport);
    call.requests.close();
    assert.equal((await call.next()).done, true);
  },

  async timeout_on_sleeping_server(transport) {
    const call = openDuplex(transport, { timeoutMs: 1 });
    void call.requests.write({ payload: payloadOf(27182) }).catch(() => {});
    await assert.rejects(call.next(), hasCode(Code.DeadlineExceeded));
  },

  async cancel_after_begin(transport) {
    const leaving = new AbortController();
    const requests = createWritableIterable<Record<string, never>>();
    const { signal } = leaving;
    const answer = clientOf(transport).streamingInputCall(requests, { signal });
    setImmediate(() => leaving.abort());
    await assert.rejects(answer, hasCode(Code.Canceled));
    requests.close();
  },

  async cancel_after_first_response(transport) {
    const leaving = new AbortController();
    const call = openDuplex(transport, { signal: leaving.signal });
    const payload = payloadOf(27182);
    void call.requests.write({ responseParameters: [{ size: 31415 }], payload });
    assert.equal((await call.next()).value?.payload?.body.length, 31415);
    leaving.abort();
    await assert.rejects(call.next(), hasCode(Code.Canceled));
    call.requests.close();
  },

  async custom_metadata(transport) {
    const seen: (string | null)[] = [];
    const options = {
      headers: { [initialName]: "test_initial_metadata_value", [trailingName]: "q6ur" },
      onHeader: (header: Headers) => void seen.push(header.get(initialName)),
      onTrailer: (trailer: Headers) => void seen.push(trailer.get(trailingName)),
    };
    await clientOf(transport).unaryCall({ responseSize: 1, payload: payloadOf(1) }, options);
    const call = openDuplex(transport, options);
    void call.requests.write({ responseParameters: [{ size: 1 }], payload: payloadOf(1) });
    await call.next();
    call.requests.close();
    assert.equal((await call.next()).done, true);
    const once = ["test_initial_metadata_value", "q6ur"];
    assert.deepEqual(seen, [...once, ...once]);
  },

  async status_code_and_message(transport) {
    const fails = hasCode(echoed.code, echoed.message);
    await assert.rejects(clientOf(transport).unaryCall({ responseStatus: echoed }), fails);
    const call = openDuplex(transport);
    void call.requests.write({ responseStatus: echoed });
    call.requests.close();
    await assert.rejects(call.next(), fails);
  },

  async special_status_message(transport) {
    const responseStatus = { ...echoed, message: special };
    const answer = clientOf(transport).unaryCall({ responseStatus });
    await assert.rejects(answer, hasCode(Code.Unknown, special));
  },

  async unimplemented_method(transport) {
    const answer = clientOf(transport).unimplementedCall({});
    await assert.rejects(answer, hasCode(Code.Unimplemented));
  },

  async unimplemented_service(transport) {
    const answer = createClient(UnimplementedService, transport).unimplementedCall({});
    await assert.rejects(answer, hasCode(Code.Unimplemented));
  },

  /** No case of gRPC: with a watch of 20 ms, a server that cuts who pings too often is asked 50 times. */
  async quiet_stream(transport) {
    const call = openDuplex(transport);
    const answer = call.next();
    await once(AbortSignal.timeout(2000), "abort");
    void call.requests.write({ responseParameters: [{ size: 1 }] });
    assert.equal((await answer).value?.payload?.body.length, 1);
    call.requests.close();
    assert.equal((await call.next()).done, true);
  },
};

function clientOf(transport: GrpcTransport) {
  return createClient(TestService, transport);
}

function openDuplex(
  transport: GrpcTransport,
  options: Parameters<ReturnType<typeof clientOf>["fullDuplexCall"]>[1] = {},
) {
  type Request = MessageInitShape<typeof StreamingOutputCallRequestSchema>;
  const requests = createWritableIterable<Request>();
  const answers = clientOf(transport).fullDuplexCall(requests, options)[Symbol.asyncIterator]();
  return { requests, next: () => answers.next() };
}

function hasCode(code: number, message?: string) {
  return (error: unknown) => {
    assert(error instanceof ConnectError);
    assert.equal(error.code, code);
    if (message !== undefined) assert.equal(error.rawMessage, message);
    return true;
  };
}
