/** Many clients that send all they may at once: they get their turns, and so does everyone else. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { GatewayHandler } from "../../src/gateway/index.ts";
import { Intake } from "../../src/server/intake.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { openPort } from "../../src/server/port.ts";
import type { TlsFiles } from "../../src/server/tls.ts";
import { createCertificate, hasOpenssl } from "../support/certificate.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import type { Burst } from "./burst-thread.ts";

describe.each([
  ["in clear", false],
  ["over TLS", true],
])("%s", (_name, isEncrypted) => {
  test.skipIf(isEncrypted && !hasOpenssl)(
    "of what has come at once, a bounded number of requests begins in one turn of the event loop",
    async () => {
      await using folder = await createTemporaryFolder();
      const tls = isEncrypted ? createCertificate(folder.path, "one") : undefined;
      const { url, turns } = await openCounting(tls);
      const burst: Burst = { url, connections: 8, requests: 200 };
      const clients = new Worker(new URL("burst-thread.ts", import.meta.url), {
        workerData: burst,
      });
      onTestFinished(async () => void (await clients.terminate()));
      await once(clients, "message");
      turns.length = 0;
      clients.postMessage("go");
      // Long enough for them to have sent everything.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      const [answered] = await once(clients, "message");

      expect(answered).toBe(1600);
      expect(turns.reduce((sum, begun) => sum + begun, 0)).toBe(1600);
      // What is enough, and what the connection that brought it has sent besides.
      expect(Math.max(...turns)).toBeLessThan(256 + 200);
    },
  );
});

/** A port where each request is answered at once; how many began in each turn of the event loop. */
async function openCounting(tls: TlsFiles | undefined) {
  const turns: number[] = [];
  let begun = 0;
  const handler: GatewayHandler = Object.assign(() => {}, {
    serveStream: (stream: Parameters<GatewayHandler["serveStream"]>[0]) => {
      if (begun++ === 0) {
        setImmediate(() => {
          turns.push(begun);
          begun = 0;
        });
      }
      stream.respond({ ":status": 200 }, { endStream: true });
      return true;
    },
  });
  const common = { host: "127.0.0.1", port: 0, limits: defaultLimits, handler, tls };
  const port = await openPort({ ...common, onTlsError: () => {} });
  onTestFinished(() => port.drain(0));
  const scheme = tls === undefined ? "http" : "https";
  return { url: `${scheme}://127.0.0.1:${port.address.port}`, turns };
}

describe("an intake", () => {
  let intake: Intake;
  beforeEach(() => {
    intake = new Intake();
  });

  /** A connection that tells whether it is read. */
  function connect() {
    const connection = { isRead: true };
    const _handle = {
      readStart: () => {
        connection.isRead = true;
      },
      readStop: () => {
        connection.isRead = false;
      },
    };
    const socket = { _handle } as unknown as Socket;
    intake.add(socket);
    const send = (requests: number) => {
      for (let n = 0; n < requests; n++) intake.take(socket);
    };
    return Object.assign(connection, { socket, send });
  }

  const many = 256;

  test("reads everyone while little comes", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many - 2);
    two.send(1);
    expect([one.isRead, two.isRead]).toEqual([true, true]);
    await nextTurn();
    one.send(many - 1);
    expect([one.isRead, two.isRead]).toEqual([true, true]);
  });

  test("reads nobody more in a turn in which enough has come", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many);
    const three = connect();
    expect([one.isRead, two.isRead, three.isRead]).toEqual([false, false, false]);
  });

  test("then reads those first who have had no share", async () => {
    const [one, two, three] = [connect(), connect(), connect()];
    one.send(many);
    await nextTurn();
    expect([one.isRead, two.isRead, three.isRead]).toEqual([false, true, true]);
    two.send(many);
    await nextTurn();
    expect([one.isRead, two.isRead, three.isRead]).toEqual([false, false, true]);
    three.send(many);
    await nextTurn();
    expect([one.isRead, two.isRead, three.isRead]).toEqual([true, true, true]);
  });

  test("does not make one wait that sends a few", async () => {
    const [one, few] = [connect(), connect()];
    few.send(10);
    one.send(many);
    await nextTurn();
    expect([one.isRead, few.isRead]).toEqual([false, true]);
  });

  test("reads everyone again when those who may send nothing", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many);
    await nextTurn();
    await nextTurn();
    expect([one.isRead, two.isRead]).toEqual([true, true]);
  });

  test("reads the only one again in the next turn", async () => {
    const one = connect();
    one.send(2 * many);
    await nextTurn();
    expect(one.isRead).toBe(true);
  });

  test("does not wait for one that has closed", async () => {
    const [one, two] = [connect(), connect()];
    one.send(many);
    await nextTurn();
    intake.remove(two.socket);
    two.isRead = false;
    await nextTurn();
    expect([one.isRead, two.isRead]).toEqual([true, false]);
  });
});
