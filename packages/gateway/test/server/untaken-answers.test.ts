/** HTTP/1.1 clients that read their answers slowly, or not at all. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import tls from "node:tls";
import { describe, type TestContext, test } from "vitest";
import { defaultLimits } from "../../src/server/limits.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { openTestPort, watchClose } from "../support/test-port.ts";

/** More than the one second after which unread answers are checked for. */
const idleTimeoutMs = 1200;

/** More than sockets buffer by themselves. */
const answer = Buffer.alloc(32 * 2 ** 20, "a");

/**
 * A client that has sent a request and reads nothing yet, and the end of its connection on the
 * server.
 */
async function ask(isEncrypted: boolean, { onTestFinished }: TestContext, request: string) {
  const { traffic, closed } = watchClose();
  const port = await openTestPort({
    limits: { ...defaultLimits, idleTimeoutMs },
    tls: isEncrypted ? sharedCertificate() : undefined,
    serve: (_request, response) => void response.end(answer),
    traffic,
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
  return { socket, closed };
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n";
const last = `${get}Connection: close\r\n\r\n`;

describe.concurrent("over HTTP/1.1", () => {
  test.for<[what: string, isEncrypted: boolean, request: string, bytesMax: number]>([
    ["reads nothing", false, last, answer.length],
    ["reads nothing over TLS", true, last, answer.length],
    ["wants a tunnel", false, `${get}\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`, answer.length],
    ["reads nothing, and sends garbage", false, `${get}\r\nGARBAGE\r\n\r\n`, answer.length],
    // A rejection has more than 100 bytes.
    ["reads no rejections", false, `${get}Expect: x\r\n\r\n`.repeat(100_000), 100_000 * 100],
  ])("a client that %s is cut off", async ([, isEncrypted, request, bytesMax], context) => {
    if (isEncrypted && !hasOpenssl) return context.skip();
    const { socket, closed } = await ask(isEncrypted, context, request);
    await closed;
    context.expect(socket.bytesRead).toBeLessThan(bytesMax);
  });

  test("a client that reads a little now and then gets everything", async (context) => {
    const { socket } = await ask(false, context, last);
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
