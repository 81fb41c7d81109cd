/** Signals: what is under way finishes, nothing new begins, the process ends well. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { exchangeOn } from "../../packages/gateway/test/support/exchange.ts";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { parseHttp1Responses } from "../../packages/gateway/test/support/http1-response.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import {
  audience,
  createSigningKey,
  issuer,
  type SigningKey,
  sign,
} from "../../packages/kit/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../../packages/kit/test/support/auth/key-server.ts";
import { type SpawnedServer, spawnServer } from "../support/child-server.ts";
import { lockStore } from "../support/locked-store.ts";
import {
  authorization,
  basil,
  get,
  openExpecting,
  plantOverHttp1,
  statusOfCreate,
} from "../support/plant-request.ts";
import { type RawProtocol, rawProtocols, restOverHttp1 } from "../support/protocol/raw.ts";
import { openSession } from "../support/session.ts";
import { readStoredPlants } from "../support/stored-plants.ts";

const expects = "Expect: 100-continue";

/** A request that the server has begun to serve, and that waits for the store. */
interface UnderWay extends Disposable {
  /** Resolves to `ok`, or to what went wrong. */
  readonly outcome: Promise<string>;
  /** Over HTTP/2: GOAWAY has come. */
  readonly goaway?: Promise<unknown>;
}

async function begin(protocol: RawProtocol, server: SpawnedServer, id: bigint): Promise<UnderWay> {
  const { name, contentType } = protocol;
  const { version, path, headers, body } = protocol.request(protocol.encode({ id, name }));
  if (version === "1.1") {
    const connection = await openExpecting(
      server.port,
      `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: ${contentType}\r\nContent-Length: ${body.length}\r\n${expects}\r\n\r\n`,
    );
    connection.write(body);
    // A drained connection is closed, whatever the client would like.
    const outcome = connection.untilClosed().then((bytes) => {
      const answer = parseHttp1Responses(bytes).at(-1);
      return answer?.status === 200 && answer.body.includes(name) ? "ok" : `${bytes}`;
    });
    return { outcome, [Symbol.dispose]: () => connection[Symbol.dispose]() };
  }
  const session = await openSession(server.url);
  const outcome = exchangeOn(session, { path, headers, body }).then((response) => {
    const read = protocol.read(response);
    return "ok" in read ? "ok" : read.message;
  });
  // The answer to a ping that was sent behind the request tells that it is under way.
  const pinged = Promise.withResolvers<void>();
  session.ping((error) => (error ? pinged.reject(error) : pinged.resolve()));
  await within("the answer to a ping", pinged.promise);
  const goaway = once(session, "goaway");
  return { outcome, goaway, [Symbol.dispose]: () => session.destroy() };
}

async function expectEnd(server: SpawnedServer, signal: NodeJS.Signals | null = null) {
  const code = signal === null ? 0 : null;
  expect(await within("the end", server.exited)).toEqual({ code, signal });
}

test("requests of every protocol finish, no new ones are taken, and the end is 0, by a signal that comes twice", async () => {
  // Nothing else takes this port while it is asked whether it still listens. The timeout is the longest.
  const port = await findFreePort();
  const args = ["--port", String(port), "--drain-timeout-ms", String(2 ** 31 - 1)];
  await using server = await spawnServer({ args });
  using lock = lockStore(server.database);
  using stack = new DisposableStack();
  const underWay: UnderWay[] = [];
  for (const [index, protocol] of rawProtocols.entries()) {
    underWay.push(stack.use(await begin(protocol, server, BigInt(index))));
  }
  server.process.kill("SIGINT");
  await server.stderr.until(/SIGINT: draining/);
  // As Ctrl-C through npm.
  server.process.kill("SIGINT");
  await within("GOAWAY on every session", Promise.all(underWay.map(({ goaway }) => goaway)));
  await expect(get(server.url, "/healthz")).rejects.toMatchObject({ code: "ECONNREFUSED" });
  lock.release();
  const outcomes = Promise.all(underWay.map(({ outcome }) => outcome));
  expect(await within("all answers", outcomes)).toEqual(rawProtocols.map(() => "ok"));
  await expectEnd(server);
  expect(server.stderr.text).toMatch(/"stopped"}\n$/);
  // The access log is off unless it is asked for.
  expect(server.stderr.text).not.toContain('"request"');
  expect(readStoredPlants(server.database)).toHaveLength(rawProtocols.length);
});

test("a drain ends with 0 when its time is up: it cuts off what does not end, and answers what waits for the store", async () => {
  await using server = await spawnServer({ args: ["--drain-timeout-ms", "200"] });
  using lock = lockStore(server.database);
  using half = await openExpecting(
    server.port,
    plantOverHttp1(basil, expects).slice(0, 1 - basil.length),
  );
  using waiting = await openExpecting(server.port, plantOverHttp1(basil, expects));
  const session = await openSession(server.url);
  const headers = { authorization, "content-type": "application/json" };
  session.request({ ":method": "POST", ":path": "/plants", ...headers }).on("error", () => {});

  server.process.kill("SIGUSR2");
  const [, answer] = parseHttp1Responses(await waiting.untilClosed());
  lock.release();
  await expectEnd(server);
  await half.untilClosed();
  session.destroy();
  const body = '{"error":14,"message":"the server is shutting down"}';
  expect(answer).toMatchObject({ status: 503, body });
  expect(answer?.headers.get("retry-after")).toMatch(/^\d+$/);
});

test("a server whose store hangs kills itself when the time of the drain is up", async () => {
  await using server = await spawnServer({ args: ["--drain-timeout-ms", "1"] });
  using _lock = lockStore(server.database);
  using waiting = await begin(restOverHttp1, server, 1n);
  server.process.kill("SIGUSR1");
  await expectEnd(server, "SIGKILL");
  expect(await waiting.outcome).toMatch(/"the server is shutting down"/);
  expect(server.stderr.text).toMatch(/the server hangs: the process kills itself/);
});

test("a drain is cut short by a second signal", async () => {
  await using server = await spawnServer();
  using _lock = lockStore(server.database);
  using request = await begin(restOverHttp1, server, 1n);
  server.process.kill("SIGQUIT");
  await server.stderr.until(/SIGQUIT: draining/);
  // One that comes within half a second counts as the first.
  const again = setInterval(() => server.process.kill("SIGTERM"), 100);
  await expectEnd(server, "SIGTERM");
  clearInterval(again);
  await request.outcome;
});

test("SIGHUP has tokens and keys read again, and ends nothing", async () => {
  const first = await createSigningKey("ES256", "1");
  const second = await createSigningKey("ES256", "2");
  const keys = await startKeyServer(keySetOf(first.jwk));
  const jwt = ["--jwks-url", keys.url.href, "--jwt-issuer", issuer, "--jwt-audience", audience];
  await using server = await spawnServer({ args: jwt });
  const statusOf = async (key: SigningKey) => statusOfCreate(server.url, 1, await sign(key));
  expect(await statusOf(first)).toBe(200);
  keys.answer = keySetOf(second.jwk);
  expect(await statusOf(second)).toBe(401); // a fetch was just before
  server.process.kill("SIGHUP");
  await server.stderr.until(/SIGHUP: reading again/);
  // Long before the time in which tokens have the keys fetched again.
  await expect.poll(() => statusOf(second), { timeout: 20_000 }).toBe(200);
  expect(await statusOf(first)).toBe(401);
  server.process.kill("SIGTERM");
  await expectEnd(server);
});
