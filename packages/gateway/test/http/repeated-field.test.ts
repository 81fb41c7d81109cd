/**
 * Fields that may occur only once: proxies disagree on which one counts, so repeated ones are
 * rejected.
 */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { flag, framesIn, frameType, http2Bytes } from "../support/frames.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";
import { createPath, createRpcPath, data, headers, volume } from "../support/volumes.ts";

type Field = readonly [name: string, value: string];

const type: Field = ["content-type", "application/json"];
const token: Field = ["authorization", "Bearer a"];

const server = useOpened(() => openTestService());

const cases: readonly [what: string, more: readonly Field[], refused: string | undefined][] = [
  ["one of each", [token], undefined],
  ["another field twice", [token, ["x-a", "1"], ["x-a", "2"], ["if-match", "a"]], undefined],
  ["spaces around a value", [["content-encoding", " identity\t"]], undefined],
  ["two tokens", [token, ["authorization", "Bearer b"]], "Authorization"],
  ["a token twice", [token, token], "Authorization"],
  ["a token and nothing", [token, ["authorization", ""]], "Authorization"],
  ["two media types", [["content-type", "text/plain"]], "Content-Type"],
];

describe.each([createPath, createRpcPath])("%s", (path) => {
  test.each(cases)("over HTTP/1.1, %s", async (_what, more, refused) => {
    using connection = await openRawConnection(server.port);
    const fields = [["Host", "a"], type, ...more, ["Content-Length", `${volume.length}`]];
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
    connection.write(`POST ${path} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n${volume}`);
    const [response] = parseHttp1Responses(await connection.untilClosed());
    expectOutcome({ status: response?.status, body: response?.body ?? "" }, refused);
  });

  test.each(cases)("over HTTP/2, %s", async (_what, more, refused) => {
    using connection = await openRawConnection(server.port);
    const lower = more.map(([name, value]): Field => [name.toLowerCase(), value]);
    connection.write(http2Bytes(headers(1, { path, more: lower }), data(1, volume)));
    const received = await connection.until("the end of the answer", (bytes) =>
      framesIn(bytes).some(({ streamId, flags }) => streamId === 1 && flags & flag.endStream),
    );
    const frames = framesIn(received).filter(({ streamId }) => streamId === 1);
    const body = frames.filter(({ type }) => type === frameType.data).map((one) => one.payload);
    // The index of `:status: 200` in the static table (RFC 7541, appendix A).
    const head = frames.find((one) => one.type === frameType.headers)?.payload[0];
    const status = head === 0x88 ? 200 : 400;
    expectOutcome({ status, body: Buffer.concat(body).toString() }, refused);
  });
});

function expectOutcome(
  { status, body }: { status: number | undefined; body: string },
  refused: string | undefined,
): void {
  expect(status).toBe(refused === undefined ? 200 : 400);
  if (refused === undefined) return;
  const message = `the header ${refused} must be sent once`;
  expect(JSON.parse(body)).toMatchObject({ code: Code.InvalidArgument, message });
}
