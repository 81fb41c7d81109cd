/** An HTTP/1.1 connection stays usable after a rejection. */
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { openFields } from "./support/echo.ts";
import { envelope } from "./support/envelope.ts";
import { parseHttp1Responses } from "./support/http1-response.ts";
import { openRawConnection } from "./support/raw-connection.ts";

const echo = "/library.v1.FieldService/Echo";
const large = Buffer.alloc(2000, 0x20);
const web = "application/grpc-web";

interface Refused {
  readonly path?: string;
  readonly type: string;
  readonly more?: string;
  /** Sent in two chunks, the second after the answer. */
  readonly body: Buffer;
}

test.each<[what: string, request: Refused]>([
  ["a path where nothing is", { path: "/none", type: "application/json", body: large }],
  ["a media type", { type: "text/plain", body: large }],
  ["the gate", { type: "application/proto", more: "x-refuse: 1\r\n", body: large }],
  ["the gate of gRPC-Web", { type: web, more: "x-refuse: 1\r\n", body: large }],
  ["a compression", { type: "application/proto", more: "content-encoding: x\r\n", body: large }],
  ["a body that is too large", { type: "application/json", body: large }],
  ["a message that is too large", { type: web, body: envelope(large) }],
  ["a message too many", { type: web, body: Buffer.concat([envelope(""), envelope(""), large]) }],
  ["a message that is malformed", { type: web, body: Buffer.concat([envelope("{{"), large]) }],
  ["text that is not base64", { type: "application/grpc-web-text", body: large }],
])("%s", async (_what, { path = echo, type, more = "", body }) => {
  await using gateway = await openFields(undefined, {
    readMaxBytes: 1000,
    requestGate(context) {
      if (!context.requestHeader.has("x-refuse")) return;
      throw new ConnectError("no", Code.Unauthenticated);
    },
  });
  using connection = await openRawConnection(gateway.port);
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\n${more}`;
  const half = body.length - 100;
  connection.write(`${head}transfer-encoding: chunked\r\n\r\n${half.toString(16)}\r\n`);
  connection.write(body.subarray(0, half));
  await connection.until("a refusal", (bytes) => parseHttp1Responses(bytes).length === 1);
  connection.write("\r\n64\r\n");
  connection.write(body.subarray(half));
  connection.write("\r\n0\r\n\r\n");
  const good = `POST ${echo} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}`;
  connection.write(good);
  const all = await connection.until(
    "the answer to the next",
    (bytes) => parseHttp1Responses(bytes).length === 2,
  );
  const [, next] = parseHttp1Responses(all);
  expect(next?.status).toBe(200);
  expect(next?.body).toBe("{}");
});
