/** Clients that leave amid their calls: nothing of them stays. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import tls from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { BodyBudget } from "../../src/index.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { envelope } from "../support/envelope.ts";
import { bytesWithoutWindow, errorCode, http2Bytes, resetFrame } from "../support/frames.ts";
import { recordCalls } from "../support/recorded-calls.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { openTestService, type ServiceOptions } from "../support/test-service.ts";
import { createPath, createRpcPath, data, headers, post, volume } from "../support/volumes.ts";

const goneMs = 2000;

const transports = ["TCP", "TLS", "a Unix socket"] as const;

/** A service, its open connections, and a way to connect to it. */
async function open(transport: (typeof transports)[number], options: ServiceOptions = {}) {
  const opened = new Set<Socket>();
  const folder = await createTemporaryFolder();
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const path = transport === "a Unix socket" ? join(folder.path, "socket") : undefined;
  const service = await openTestService({
    traffic: {
      opened: (socket) => {
        opened.add(socket);
        socket.once("close", () => opened.delete(socket));
      },
      refused: () => {},
    },
    ...(transport === "TLS" && { tls: sharedCertificate() }),
    ...(path !== undefined && ({ path, port: undefined, host: undefined } as object)),
    ...options,
  });
  /** @returns the connection, which is TLS on the raw one, or the raw one itself. */
  const dial = async (alpn: string): Promise<{ raw: Socket; socket: Socket }> => {
    const raw = connect(path === undefined ? { port: service.port, host: "127.0.0.1" } : { path });
    raw.on("error", () => {});
    if (transport !== "TLS") {
      await once(raw, "connect");
      return { raw, socket: raw };
    }
    const socket = tls.connect({ socket: raw, rejectUnauthorized: false, ALPNProtocols: [alpn] });
    socket.on("error", () => {});
    await once(socket, "secureConnect");
    return { raw, socket };
  };
  return { service, opened, dial };
}

const whole = post(volume);
const half = whole.slice(0, -1);

const message = "{".repeat(50_000);
const rpc = (method: string) => `/library.v1.CatalogService/${method}`;
const line = (path: string) => ({ line: `POST ${path} HTTP/1.1` });
const web = { ...line(rpc("WatchVolumes")), type: "application/grpc-web" };
const grpc = { type: "application/grpc", more: [["te", "trailers"]] as const };
const empty = envelope(new Uint8Array()).toString("latin1");

const requests = [
  whole,
  half,
  post(message).slice(0, -1),
  post('{"volume":{}}', line(createRpcPath)),
  `GET ${createPath}:watch HTTP/1.1\r\nHost: a\r\n\r\n`,
  post(empty, web),
];

const calls: readonly ((id: number) => Buffer)[] = [
  (id) => Buffer.concat([headers(id), data(id, volume)]),
  (id) => Buffer.concat([headers(id), data(id, "{", 0)]),
  (id) => Buffer.concat([headers(id, { ...grpc, path: createRpcPath }), data(id, empty)]),
  (id) => Buffer.concat([headers(id, { ...grpc, path: rpc("WatchVolumes") }), data(id, empty)]),
  (id) => Buffer.concat([headers(id, { ...grpc, path: rpc("ImportVolumes") }), data(id, "\0", 0)]),
];

const streams = Array.from({ length: 20 }, (_, index) => 2 * index + 1);
const begun = streams.map((id) => calls[id % calls.length]?.(id) ?? Buffer.alloc(0));
const sessions = [
  http2Bytes(...begun),
  bytesWithoutWindow(...begun),
  http2Bytes(...begun, ...streams.map((id) => resetFrame(id, errorCode.cancel))),
];

const departures: readonly ((raw: Socket, socket: Socket) => unknown)[] = [
  (raw) => (raw.remoteAddress === undefined ? raw.destroy() : raw.resetAndDestroy()),
  (raw) => raw.destroy(),
  (_raw, socket) => socket.destroy(),
  (_raw, socket) => socket.end(),
];

test.skipIf(!hasOpenssl).each(transports)(
  "nothing is left of 500 cancelled calls over %s",
  async (transport) => {
    const bodyBudget = new BodyBudget();
    const observer = recordCalls();
    const { service, opened, dial } = await open(transport, { bodyBudget, observer });
    using hold = service.hold();
    const polite = await dial("http/1.1");
    polite.socket.write(whole);
    await hold.untilBegun();
    const held = () => [opened.size, observer.underWay, bodyBudget.heldBytes];
    const before = held();
    const depart = async (
      alpn: string,
      bytes: string | Buffer,
      leave: (typeof departures)[number],
      afterMs: number,
    ) => {
      const { raw, socket } = await dial(alpn);
      socket.resume();
      const go = () => leave(raw, socket);
      socket.write(bytes, () => (afterMs === 0 ? go() : setTimeout(go, afterMs)));
      await once(raw, "close");
    };
    await Promise.all(
      departures.flatMap((leave) =>
        [0, 20].flatMap((afterMs) => [
          ...requests.map((bytes) => depart("http/1.1", bytes, leave, afterMs)),
          ...sessions.map((bytes) => depart("h2", bytes, leave, afterMs)),
        ]),
      ),
    );
    await expect.poll(held, { timeout: goneMs }).toEqual(before);
    hold.release();
    await once(polite.socket, "data");
    polite.socket.destroy();
    await service.drain(0);
  },
);

test.runIf(process.platform === "linux" && hasOpenssl).each(["TCP", "TLS"] as const)(
  "over %s, the system looks after a minute whether a silent one is there",
  async (transport) => {
    const { service, dial } = await open(transport);
    const { raw } = await dial("h2");
    const hex = (port = 0) => port.toString(16).toUpperCase().padStart(4, "0");
    const form = new RegExp(`:${hex(service.port)} \\w+:${hex(raw.localPort)} 01 \\S+ 02:(\\w+)`);
    const left = () => form.exec(readFileSync("/proc/net/tcp", "latin1"))?.[1];
    await expect.poll(() => Number(`0x${left()}`)).toBeLessThanOrEqual(6000);
  },
);
