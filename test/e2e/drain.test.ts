/** Signals: what is under way finishes, nothing new begins, the process ends well. */

import { once } from "node:events";
import http2 from "node:http2";
import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { exchangeOn } from "../../packages/gateway/test/support/http-exchange.ts";
import { parseHttp1Responses } from "../../packages/gateway/test/support/http1-response.ts";
import { openRawConnection } from "../../packages/gateway/test/support/raw-connection.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import {
  audience,
  createSigningKey,
  issuer,
  type SigningKey,
  sign,
} from "../../packages/proxy/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../../packages/proxy/test/support/auth/key-server.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { lockStore } from "../support/locked-store.ts";
import { authorization, basil, plantOverHttp1, postPlant } from "../support/plant-request.ts";
import { type RawProtocol, rawProtocols } from "../support/protocol/raw.ts";
import { readStoredPlants } from "../support/stored-plants.ts";

/** A request that the server has begun to serve, and that waits for the store. */
interface UnderWay extends Disposable {
  readonly name: string;
  /** Resolves to `ok`, or to what went wrong. */
  readonly outcome: Promise<string>;
  /** Over HTTP/2: GOAWAY has come. */
  readonly goaway: Promise<unknown> | undefined;
}

async function begin(protocol: RawProtocol, server: ChildServer, id: bigint): Promise<UnderWay> {
  const body = Buffer.from(protocol.frame(protocol.encode({ id, name: protocol.name })));
  return protocol.version === "1.1"
    ? await beginHttp1(protocol, server, body)
    : await beginHttp2(protocol, server, body);
}

/** 100 Continue tells that the request is under way. */
async function beginHttp1(protocol: RawProtocol, server: ChildServer, body: Buffer) {
  const connection = await openRawConnection(server.port);
  connection.write(
    `POST ${protocol.path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n` +
      `Content-Type: ${protocol.contentType}\r\nContent-Length: ${body.length}\r\n` +
      "Expect: 100-continue\r\n\r\n",
  );
  await connection.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
  connection.write(body);
  // A drained connection is closed, whatever the client would like.
  const outcome = connection.untilClosed().then((bytes) => {
    const answer = parseHttp1Responses(bytes).at(-1);
    return answer?.status === 200 && answer.body.includes(protocol.name) ? "ok" : `${bytes}`;
  });
  const close = () => connection[Symbol.dispose]();
  return { name: protocol.name, outcome, goaway: undefined, [Symbol.dispose]: close };
}

/** The answer to a ping that was sent behind the request tells that it is under way. */
async function beginHttp2(protocol: RawProtocol, server: ChildServer, body: Buffer) {
  const session = http2.connect(server.url);
  await within("a session", once(session, "connect"));
  const answer = exchangeOn(session, {
    path: protocol.path,
    headers: { authorization, "content-type": protocol.contentType },
    body,
  });
  const outcome = answer.then((response) => {
    const read = protocol.read(response);
    return "ok" in read ? "ok" : read.message;
  });
  const pinged = Promise.withResolvers<void>();
  session.ping((error) => (error ? pinged.reject(error) : pinged.resolve()));
  await within("the answer to a ping", pinged.promise);
  const close = () => session.destroy();
  const goaway = once(session, "goaway");
  return { name: protocol.name, outcome, goaway, [Symbol.dispose]: close };
}

describe.each(["SIGTERM", "SIGINT", "SIGQUIT", "SIGUSR2"] as const)("%s", (signal) => {
  test("lets requests of every protocol finish, takes no new ones, and ends with 0", async () => {
    await using server = await spawnServer();
    using lock = lockStore(server.database);
    using stack = new DisposableStack();
    const underWay: UnderWay[] = [];
    for (const [index, protocol] of rawProtocols.entries()) {
      underWay.push(stack.use(await begin(protocol, server, BigInt(index))));
    }

    server.process.kill(signal);
    await server.stderr.until(new RegExp(`${signal}: draining`));
    await within("GOAWAY on every session", Promise.all(underWay.map(({ goaway }) => goaway)));
    await expectRefused(server.port);

    lock.release();
    const outcomes = await within(
      "all answers",
      Promise.all(underWay.map(async ({ name, outcome }) => [name, await outcome])),
    );
    expect(outcomes).toEqual(rawProtocols.map(({ name }) => [name, "ok"]));
    expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
    expect(server.stderr.text).toMatch(/"stopped"}\n$/);
    expect(readStoredPlants(server.database)).toHaveLength(rawProtocols.length);
  });
});

describe("a drain", () => {
  test("cuts a request off that does not end, and ends with 0", async () => {
    const args = ["--drain-timeout-ms", "200"];
    await using server = await spawnServer({ args });
    using half = await openRawConnection(server.port);
    half.write(plantOverHttp1(basil, "Expect: 100-continue").slice(0, 1 - basil.length));
    await half.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
    const session = http2.connect(server.url);
    session.on("error", () => {});
    const stream = session.request({
      ":method": "POST",
      ":path": "/plants",
      authorization,
      "content-type": "application/json",
    });
    stream.on("error", () => {});
    await within("a session", once(session, "remoteSettings"));

    server.process.kill("SIGTERM");
    expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
    await half.untilClosed();
    session.destroy();
  });

  test("answers what waits for the store when the time is up, and says when to try again", async () => {
    const args = ["--drain-timeout-ms", "200"];
    await using server = await spawnServer({ args });
    using lock = lockStore(server.database);
    using connection = await openRawConnection(server.port);
    connection.write(plantOverHttp1(basil, "Expect: 100-continue"));
    await connection.until("100 Continue", (bytes) => bytes.includes("100 Continue"));
    server.process.kill("SIGTERM");
    const [, answer] = parseHttp1Responses(await connection.untilClosed());
    lock.release();
    expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
    const body = '{"error":14,"message":"the server is shutting down"}';
    expect(answer).toMatchObject({ status: 503, body });
    expect(answer?.headers.get("retry-after")).toMatch(/^\d+$/);
  });

  test("is cut short by a second signal", async () => {
    await using server = await spawnServer();
    using _lock = lockStore(server.database);
    const [rest] = rawProtocols;
    if (rest === undefined) throw new Error("no protocols");
    using request = await begin(rest, server, 1n);
    server.process.kill("SIGTERM");
    await server.stderr.until(/SIGTERM: draining/);
    // One that comes within half a second counts as the first.
    const again = setInterval(() => server.process.kill("SIGTERM"), 100);
    expect(await within("the end", server.exited, 4000)).toEqual({ code: null, signal: "SIGTERM" });
    clearInterval(again);
    await request.outcome;
  });

  test("is not cut short by a signal that arrives twice, as Ctrl-C through npm does", async () => {
    await using server = await spawnServer();
    using lock = lockStore(server.database);
    const [rest] = rawProtocols;
    if (rest === undefined) throw new Error("no protocols");
    using request = await begin(rest, server, 1n);
    server.process.kill("SIGINT");
    await server.stderr.until(/SIGINT: draining/);
    server.process.kill("SIGINT");
    lock.release();
    expect(await request.outcome).toBe("ok");
    expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
  });
});

async function expectRefused(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  const outcome = Promise.withResolvers<string>();
  socket.once("connect", () => outcome.resolve("connected"));
  socket.once("error", (error: NodeJS.ErrnoException) => outcome.resolve(error.code ?? ""));
  expect(await within("a refusal", outcome.promise)).toBe("ECONNREFUSED");
  socket.destroy();
}

test("SIGHUP has tokens and keys read again, and ends nothing", async () => {
  const [first, second] = [
    await createSigningKey("ES256", "1"),
    await createSigningKey("ES256", "2"),
  ];
  const keys = await startKeyServer(keySetOf(first.jwk));
  const jwt = ["--jwks-url", keys.url.href, "--jwt-issuer", issuer, "--jwt-audience", audience];
  await using server = await spawnServer({ args: jwt });
  const statusOf = async (key: SigningKey) => {
    const headers = { authorization: `Bearer ${await sign(key)}` };
    return (await postPlant(server.url, { version: "2", headers })).status;
  };
  expect(await statusOf(first)).toBe(200);
  keys.answer = keySetOf(second.jwk);
  expect(await statusOf(second)).toBe(401); // a fetch was just before
  server.process.kill("SIGHUP");
  await server.stderr.until(/SIGHUP: tokens and keys were read again/);
  expect(await statusOf(second)).toBe(200);
  expect(await statusOf(first)).toBe(401);
  server.process.kill("SIGTERM");
  expect(await within("the end", server.exited)).toEqual({ code: 0, signal: null });
});
