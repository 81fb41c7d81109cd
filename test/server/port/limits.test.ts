/** The limits of the settings hold at the port, and what it refuses looks as all errors do. */

import { once } from "node:events";
import http2 from "node:http2";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { parseHttp1Responses } from "../../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../../packages/gateway/test/support/raw-connection.ts";
import { greeting, settingsAck } from "../../../packages/gateway/test/support/raw-http2.ts";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { lockStore } from "../../support/locked-store.ts";
import {
  plantHeaders as fields,
  basil as plant,
  plantOverHttp1,
  postPlant,
} from "../../support/plant-request.ts";
import { expectRestError } from "../../support/rest-error.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { openTestServer } from "../../support/test-server.ts";

test.each([
  ["headers that are too large", { headerBytesMax: 1000 }, `X: ${"x".repeat(1000)}\r\n`, 431],
  ["headers that do not end", { requestTimeoutMs: 300 }, "X: ", 408],
])("%s are refused, over %j", async (_what, limits, more, status) => {
  await using server = await openTestServer({ limits });
  using connection = await openRawConnection(server.port);
  connection.write(`POST /plants HTTP/1.1\r\nHost: a\r\n${more}`);
  const [response] = parseHttp1Responses(await connection.untilClosed());
  if (response === undefined) throw new Error("no answer");
  expect(response.status).toBe(status);
  const headers = new Headers([...response.headers]);
  const error = status === 408 ? Code.DeadlineExceeded : Code.ResourceExhausted;
  expectRestError({ headers, body: response.body }, { error });
});

test("a body that does not end is refused over HTTP/2, over requestTimeoutMs", async () => {
  await using server = await openTestServer({ limits: { requestTimeoutMs: 200 } });
  const session = http2.connect(server.url);
  const stream = session.request({ ":method": "POST", ":path": "/plants", ...fields });
  const [answered] = await within("the answer", once(stream, "response"));
  expect(answered[":status"]).toBe(408);
  const body = await within("the body", once(stream, "data"));
  expect(JSON.parse(String(body))).toEqual({
    error: Code.DeadlineExceeded,
    message: "the request took too long to arrive",
  });
  session.destroy();
});

test("a session that rests is ended, over idleTimeoutMs", async () => {
  await using server = await openTestServer({ limits: { idleTimeoutMs: 200 } });
  using connection = await openRawConnection(server.port);
  connection.write(Buffer.concat([greeting, settingsAck]));
  await connection.untilClosed();
});

test("one connection too many is refused, over connectionsMax", async () => {
  await using server = await openTestServer({ limits: { connectionsMax: 1 } });
  using first = await openRawConnection(server.port);
  first.write(plantOverHttp1(plant));
  await first.until("the plant", (received) => received.includes('{"name":"Basil"}'));
  using second = await openRawConnection(server.port);
  expect(await second.untilClosed()).toHaveLength(0);
});

test.each<[exempt: string[], count: number]>([
  [[], 2],
  [["127.0.0.0/8"], 3],
])(
  "with %j exempt, %i of 3 connections are open, over connectionsPerAddressMax",
  async (exempt, count) => {
    const limits = { connectionsPerAddressMax: 2, connectionsExempt: exempt };
    await using server = await openTestServer({ limits });
    using stack = new DisposableStack();
    let open = 0;
    for (let i = 0; i < 3; i++) {
      const connection = stack.use(await openRawConnection(server.port));
      connection.write(
        `GET /healthz HTTP/1.1\r\nHost: a\r\n${i === 2 ? "Connection: close\r\n" : ""}\r\n`,
      );
      const isAnswered = (received: Buffer) => received.includes('{"status":"ok"}');
      if (i < 2) await connection.until("an answer", isAnswered);
      if (i < 2 || isAnswered(await connection.untilClosed())) open++;
    }
    expect(open).toBe(count);
  },
);

test("a session is told streamsMax", async () => {
  await using server = await openTestServer({ limits: { streamsMax: 2 } });
  const session = http2.connect(server.url);
  const [settings] = await within("the settings", once(session, "remoteSettings"));
  expect(settings.maxConcurrentStreams).toBe(2);
  session.destroy();
});

test("what is stored is answered, and not the refusal of what came behind it", async () => {
  await using server = await openTestServer();
  using connection = await openRawConnection(server.port);
  using lock = lockStore(server.database);
  connection.write(plantOverHttp1(plant, "Expect: 100-continue"));
  // The call waits for the store when its body has been asked for.
  await connection.until("100 Continue", (received) => received.includes("100 Continue"));
  connection.write("what is this\r\n\r\n");
  // What comes later is answered later: the refusal is due before the plant can be stored.
  const healthz = await fetch(`${server.url}/healthz`);
  expect(healthz.status).toBe(200);
  lock.release();
  const answers = parseHttp1Responses(await connection.untilClosed());
  expect(answers).toMatchObject([{ status: 100 }, { status: 200, body: '{"name":"Basil"}' }]);
  expect(readStoredPlants(server.database)).toHaveLength(1);
});

test("nothing is stored of a request whose body breaks off", async () => {
  await using server = await openTestServer();
  using connection = await openRawConnection(server.port);
  connection.write(plantOverHttp1(plant).slice(0, -1));
  connection.end();
  const [response] = parseHttp1Responses(await connection.untilClosed());
  expect([undefined, 400]).toContain(response?.status);
  expect(readStoredPlants(server.database)).toEqual([]);
});

test.each([
  ["a stranger", { basePath: "/api" }, "/api/plants", "", 401],
  ["an unknown path", { basePath: "/api" }, "/nowhere", fields.authorization, 404],
  ["a client over its limit", { rateLimitPerToken: 1 }, "/plants", fields.authorization, 429],
])(
  "%s is refused before its body is asked for, over %j",
  async (_what, options, path, token, status) => {
    await using server = await openTestServer(options);
    const origin = new URL(server.url).origin;
    if (status === 429) await postPlant(origin, { path });
    using connection = await openRawConnection(server.port);
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${token}\r\nExpect: 100-continue\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${plant.length}\r\n\r\n`,
    );
    const answers = parseHttp1Responses(await connection.untilClosed());
    expect(answers.map((answer) => answer.status)).toEqual([status]);
  },
);
