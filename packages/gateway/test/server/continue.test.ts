/**
 * `Expect: 100-continue`: a request that is decided by its headers is answered without asking for
 * the body.
 */
import { once } from "node:events";
import http2 from "node:http2";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { continueWhenRead } from "../../src/http/request-exchange.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService, type TestService, tokenGate } from "../support/test-service.ts";
import { useOpened } from "../support/use-opened.ts";
import { answer, createPath, createRpcPath, rpcVolume, volume } from "../support/volumes.ts";
import { within } from "../support/within.ts";

type Fields = Readonly<Record<string, string>>;

interface Expecting {
  readonly method?: string;
  readonly path?: string;
  readonly fields?: Fields;
  /** Sent when the server asks for it. */
  readonly body?: string;
}

/** The statuses of all answers to a request whose body waits until it is asked for, in order. */
type Send = (server: TestService, request: Expecting) => Promise<number[]>;

const json = { "content-type": "application/json", authorization: "anyone" };

async function sendHttp1({ port }: TestService, request: Expecting): Promise<number[]> {
  const { method = "POST", path = createPath, fields = json, body = volume } = request;
  using connection = await openRawConnection(port);
  const all = { host: "a", expect: "100-continue", "content-length": `${body.length}`, ...fields };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  connection.write(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const statuses = () =>
    [...`${connection.received}`.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, one]) => Number(one));
  await connection.until("an answer", () => statuses().length > 0);
  if (statuses()[0] === 100) {
    connection.write(body);
    await connection.until("the answer", () => statuses().length > 1);
  } else {
    await connection.untilClosed(); // the body could not be distinguished from the next request
  }
  return statuses();
}

async function sendHttp2({ origin }: TestService, request: Expecting): Promise<number[]> {
  const { method = "POST", path = createPath, fields = json, body = volume } = request;
  const session = http2.connect(origin);
  try {
    const own = { ":method": method, ":path": path, expect: "100-continue" };
    const stream = session.request({ ...own, ...fields, "content-length": `${body.length}` });
    stream.on("error", () => {});
    const statuses: number[] = [];
    stream.on("continue", () => {
      statuses.push(100);
      stream.end(body);
    });
    const [head] = await within("the answer", once(stream, "response"));
    return [...statuses, Number(head[":status"])];
  } finally {
    session.destroy();
  }
}

const versions: readonly [name: string, send: Send][] = [
  ["HTTP/1.1", sendHttp1],
  ["HTTP/2", sendHttp2],
];

const grpcWeb = { "content-type": "application/grpc-web+proto", authorization: "anyone" };
const { authorization: _, ...stranger } = json;
const large = "x".repeat(5000);

describe.each(versions)("over %s", (_name, send) => {
  const server = useOpened(() => openTestService({ readMaxBytes: 4096, requestGate: tokenGate }));

  test.each<[what: string, request: Expecting, status: number]>([
    ["a stranger", { fields: stranger }, 401],
    ["a stranger by RPC", { path: createRpcPath, fields: stranger }, 401],
    ["a stranger to a stream", { path: `${createPath}:batch`, fields: stranger }, 404],
    ["another path", { path: "/nowhere" }, 404],
    ["another method", { method: "PATCH" }, 405],
    ["a body that is too large", { body: large }, 413],
    ["another media type", { fields: { ...json, "content-type": "text/plain" } }, 415],
    ["another coding", { fields: { ...json, "content-encoding": "zip" } }, 415],
    ["what is beside the services", { path: "/healthz" }, 405],
  ])("%s is rejected before the body is requested", async (_what, request, status) => {
    expect(await send(server, request)).toEqual([status]);
  });

  test.each<[what: string, request: Expecting]>([
    ["REST", {}],
    ["Connect", { path: createRpcPath, body: rpcVolume }],
    ["gRPC-Web", { path: createRpcPath, fields: grpcWeb, body: "\0\0\0\0\0" }],
    [
      "a stream of Connect",
      {
        path: "/library.v1.CatalogService/WatchVolumes",
        fields: { ...json, "content-type": "application/connect+json" },
        body: "\0\0\0\0\u0002{}",
      },
    ],
  ])("%s has its body requested once", async (_what, request) => {
    expect(await send(server, request)).toEqual([100, 200]);
  });
});

describe("over HTTP/1.1", () => {
  test("a body sent without waiting is read, and so is the next request", async () => {
    await using server = await openTestService({ requestGate: () => delay(20) }); // both are here then
    using connection = await openRawConnection(server.port);
    const head =
      `POST ${createPath} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n` +
      `Expect: 100-continue\r\nContent-Length: ${volume.length}\r\n\r\n`;
    connection.write((head + volume).repeat(2));
    const answers = () =>
      parseHttp1Responses(connection.received).filter(({ status }) => status !== 100);
    await connection.until("two answers", () => answers().length === 2);
    expect(answers()).toMatchObject(Array(2).fill({ status: 200, body: answer }));
  });

  test("a handler besides the services, and a fallback, get a body that is requested", async () => {
    const handler: Parameters<typeof openTestService>[0] = {
      handlers: () =>
        new Map([["/beside", (request, response) => request.pipe(response as never)]]),
      fallback: (request, response) => request.pipe(response as never),
    };
    await using server = await openTestService(handler);
    for (const path of ["/beside", "/elsewhere"]) {
      expect(await sendHttp1(server, { path })).toEqual([100, 200]);
      expect(await sendHttp2(server, { path })).toEqual([100, 200]);
    }
  });
});

test.each([{ headersSent: true }, { stream: { destroyed: true } }, { stream: { closed: true } }])(
  "the body of a request is not requested once its response has %j",
  (given) => {
    const request = { read() {} };
    const response = { ...given, writeContinue: vi.fn() };
    continueWhenRead(request as never, response as never);
    request.read();
    expect(response.writeContinue).not.toHaveBeenCalled();
  },
);
