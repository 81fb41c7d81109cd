/** A body that the client aborts is not a complete body, however much of it has arrived. */
import { describe, expect, test } from "vitest";
import { gatewayNodeAdapter } from "../src/index.ts";
import { FieldService } from "./gen/library/v1/fields_pb.ts";
import { createEchoService } from "./support/echo.ts";
import { envelope } from "./support/envelope.ts";
import { errorCode, flag, framesIn, frameType, http2Bytes, resetFrame } from "./support/frames.ts";
import { openRawConnection } from "./support/raw-connection.ts";
import { openTestPort } from "./support/test-port.ts";
import { data, headers } from "./support/volumes.ts";

const rpcPath = "/library.v1.FieldService/Echo";

const ways: readonly [protocol: string, path: string, contentType: string, body: Uint8Array][] = [
  ["REST", "/v1/fields", "application/json", Buffer.from('{"string":"a"}')],
  ["Connect", rpcPath, "application/json", Buffer.from('{"string":"a"}')],
  ["gRPC", rpcPath, "application/grpc+json", envelope('{"string":"a"}')],
  ["gRPC-Web", rpcPath, "application/grpc-web+json", envelope('{"string":"a"}')],
];

describe.each(ways)("%s", (_protocol, path, type, body) => {
  /** A message on a stream, and whether the stream ends with it. */
  const message = (streamId: number, flags: number) => [
    headers(streamId, { path, type }),
    data(streamId, body, flags),
  ];

  test.each([
    ["CANCEL", errorCode.cancel],
    ["NO_ERROR", errorCode.noError],
  ])("does not serve a complete message on a stream that is reset with %s", async (_name, code) => {
    const service = createEchoService();
    const handler = gatewayNodeAdapter({
      routes: (router) => router.service(FieldService, service),
    });
    const port = await openTestPort({ serve: handler, serveStream: handler.serveStream });
    using connection = await openRawConnection(port.address.port);
    const answered = (streamId: number) =>
      connection.until("an answer", (bytes) =>
        framesIn(bytes).some((one) => one.type === frameType.data && one.streamId === streamId),
      );
    const reset = resetFrame(1, code);
    // A complete message without the end of its stream; then a valid call, to see that it has
    // arrived.
    connection.write(http2Bytes(...message(1, 0)));
    connection.write(Buffer.concat(message(3, flag.endStream)));
    await answered(3);
    connection.write(Buffer.concat([reset, ...message(5, flag.endStream)]));
    await answered(5);
    connection.end();
    await port.drain(1000);
    expect(service.received).toHaveLength(2);
  });
});
