/** HTTP/1.1 clients that read their answers slowly, or not at all. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import tls from "node:tls";
import { describe, type TestContext, test } from "vitest";
import { defaultLimits } from "../../src/server/limits.ts";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { openTestPort } from "../support/test-port.ts";

/** More than the one second after which unread answers are checked for. */
const idleTimeoutMs = 1200;

/** More than sockets buffer by themselves. */
const answer = Buffer.alloc(32 * 2 ** 20, "a");

/**
 * A client that has sent a request and reads nothing yet, and the end of its connection on the
 * server.
 */
async function ask(
  isEncrypted: boolean,
  { onTestFinished }: TestContext,
  request = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
) {
  const closed = Promise.withResolvers<void>();
  await using folder = await createTemporaryFolder();
  const port = await openTestPort({
    limits: { ...defaultLimits, idleTimeoutMs },
    tls: isEncrypted ? createCertificate(folder.path, "one") : undefined,
    serve: (_request, response) => void response.end(answer),
    traffic: {
      opened: (opened) => opened.once("close", () => closed.resolve()),
      refused: () => {},
    },
  });
  const raw = connect(port.address.port, "127.0.0.1");
  const socket: Socket = isEncrypted
    ? tls.connect({ socket: raw, rejectUnauthorized: false })
    : raw;
  onTestFinished(async () => {
    socket.destroy();
    await port.drain(0);
  });
  await once(socket, isEncrypted ? "secureConnect" : "connect");
  socket.on("error", () => {});
  socket.pause();
  socket.write(request);
  return { socket, closed: closed.promise };
}

describe.concurrent("over HTTP/1.1", () => {
  test("a client that reads nothing is cut off", async (context) => {
    const { socket, closed } = await ask(false, context);
    await closed;
    context.expect(socket.bytesRead).toBeLessThan(answer.length);
  });

  test.skipIf(!hasOpenssl)("a client that reads nothing is cut off over TLS", async (context) => {
    const { socket, closed } = await ask(true, context);
    await closed;
    context.expect(socket.bytesRead).toBeLessThan(answer.length);
  });

  test("a rejected client that reads nothing is cut off", async (context) => {
    const refused = "GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n";
    const { socket, closed } = await ask(false, context, refused.repeat(100_000));
    await closed;
    context.expect(socket.bytesRead).toBeLessThan(100_000 * 100); // an answer has more
  });

  test.for([
    ["asks for a tunnel", "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"],
    ["says what is malformed", "GARBAGE\r\n\r\n"],
  ])("a client that reads nothing, and then %s, is cut off", async ([, last], context) => {
    const { socket, closed } = await ask(
      false,
      context,
      `GET / HTTP/1.1\r\nHost: a\r\n\r\n${last}`,
    );
    await closed;
    context.expect(socket.bytesRead).toBeLessThan(answer.length);
  });

  test("a client that reads a little now and then gets everything", async (context) => {
    const { socket } = await ask(false, context);
    const ended = once(socket, "close");
    socket.on("data", () => {});
    for (let pauses = 0; pauses < 4; pauses++) {
      socket.pause();
      await delay(idleTimeoutMs / 2);
      const enough = socket.bytesRead + 2 ** 22;
      socket.resume();
      while (socket.bytesRead < enough && !socket.destroyed) await delay(1);
    }
    await ended;
    context.expect(socket.bytesRead).toBeGreaterThan(answer.length);
  });
});
