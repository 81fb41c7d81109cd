/** TLS on the single port: ALPN, renewed certificates, files that contradict each other. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, renameSync, utimesSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import tls from "node:tls";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import type { NodeHandler } from "../../src/index.ts";
import { readCa, readTlsMaterial, TlsFilesError } from "../../src/server/index.ts";
import {
  type Certificate,
  createCertificate,
  hasOpenssl,
  sharedCertificate,
} from "../support/certificate.ts";
import { exchange, type HttpVersion } from "../support/exchange.ts";
import { parseHttp1Responses } from "../support/http1-response.ts";
import { createRawConnection, openRawConnection } from "../support/raw-connection.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { openTestPort } from "../support/test-port.ts";
import { openTestService, type TestService } from "../support/test-service.ts";
import { answer, createRequest } from "../support/volumes.ts";
import { patienceMs, within } from "../support/within.ts";

/** A connection whose handshake is complete. */
async function shake(port: number, options: tls.ConnectionOptions = {}): Promise<tls.TLSSocket> {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  await within("the handshake", once(socket, "secureConnect"));
  return socket;
}

/** The common name of the server's certificate, and the chosen protocol. */
async function greet(port: number, ALPNProtocols?: string[]) {
  const socket = await shake(port, ALPNProtocols && { ALPNProtocols });
  const { subject } = socket.getPeerCertificate();
  const { alpnProtocol } = socket;
  socket.destroy();
  return { name: subject.CN, alpnProtocol };
}

describe.skipIf(!hasOpenssl)("with a certificate", () => {
  let server: TestService;
  let ca: string;

  beforeAll(async () => {
    ca = sharedCertificate().pem;
    const limits = { requestTimeoutMs: 300, idleTimeoutMs: 5000 };
    server = await openTestService({ tls: sharedCertificate(), limits });
    return () => server[Symbol.asyncDispose]();
  });

  test.each([
    [["h2", "http/1.1"], "h2"],
    [["http/1.1", "h2"], "h2"],
    [["http/1.1"], "http/1.1"],
    [undefined, false],
  ])("of the protocols %j it chooses %j", async (offered, chosen) => {
    expect((await greet(server.port, offered)).alpnProtocol).toBe(chosen);
  });

  test.each([
    ["HTTP/1.1", "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["nothing", ""],
  ])("rejects %s in plaintext, and continues", async (_what, bytes) => {
    using connection = await openRawConnection(server.port);
    connection.write(bytes);
    expect((await connection.untilClosed()).toString("latin1")).not.toContain("200");
    expect(
      (await exchange({ origin: server.origin, version: "1.1", ca, ...createRequest })).status,
    ).toBe(200);
  });

  test("rejects TLS 1.1", async () => {
    const old = shake(server.port, { maxVersion: "TLSv1.1", minVersion: "TLSv1" });
    await expect(old).rejects.toThrow(/TLS|SSL|alert/i);
  });

  test.each([
    ["nothing", undefined],
    ["half of a request", "POST /v1/shelves/a/volumes HTTP/1.1\r\nHo"],
  ])("answers a client that sends %s after the handshake with 408", async (_what, bytes) => {
    using connection = createRawConnection(await shake(server.port));
    if (bytes !== undefined) connection.write(bytes);
    expect((await connection.untilClosed()).toString()).toMatch(/^HTTP\/1\.1 408 /);
  });
});

test.skipIf(!hasOpenssl).each(["1.1", "2"] as const)(
  "a drain lets a running request over TLS and HTTP/%s end",
  async (version) => {
    const begun = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const port = await openTestPort({
      tls: sharedCertificate(),
      serve: async (_request, response) => {
        begun.resolve();
        await answer.promise;
        response.end("late");
      },
    });
    const origin = `https://127.0.0.1:${port.address.port}`;
    const response = exchange({ origin, version, path: "/", ca: sharedCertificate().pem });
    await within("the request", begun.promise);
    const drained = port.drain(5000);
    answer.resolve();
    expect((await response).body.toString()).toBe("late");
    await within("the drain", drained);
  },
);

/**
 * Node pauses a connection whose client reads no answers. TLS still delivers what it has decrypted.
 */
describe.skipIf(!hasOpenssl)("behind an unread answer", () => {
  /** A client that has sent a first request and reads nothing of its large answer. */
  async function openUntaken(handle: (request: IncomingMessage) => Promise<string>) {
    const serve: NodeHandler = async (request, response) => {
      const text = await handle(request as IncomingMessage);
      response.end(text.padEnd(request.url === "/1" ? 20_000_000 : 0));
    };
    const port = await openTestPort({ tls: sharedCertificate(), serve });
    onTestFinished(() => port.drain(0));
    const socket = await shake(port.address.port);
    onTestFinished(() => void socket.destroy());
    socket.setMaxSendFragment(1024);
    socket.write(post("/1", ""));
    await within("an answer", once(socket, "readable"));
    return socket;
  }

  const post = (path: string, body: string, more = "") =>
    `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`;

  test("requests of many records arrive completely and in order", async () => {
    const second = Promise.withResolvers<void>();
    const socket = await openUntaken(async (request) => {
      if (request.url === "/2") second.resolve();
      // Long enough for more than a request may have waiting.
      if (request.url === "/3") await setTimeout(100);
      return await hash(request);
    });
    const bodies = [2, 3, 4].map((n) => Array.from({ length: 40_000 }, (_, i) => i * n).join());
    const [two = "", three = "", four = ""] = bodies;
    socket.write(post("/2", two) + post("/3", three) + post("/4", four, "Connection: close\r\n"));
    await within("the second request", second.promise);
    const answers = parseHttp1Responses(await within("the answers", buffer(socket)));
    expect(answers.slice(1).map(({ body }) => body)).toEqual(
      await Promise.all(bodies.map((body) => hash([body]))),
    );
  });

  test("not much more is read", async () => {
    const requests: IncomingMessage[] = [];
    const second = Promise.withResolvers<void>();
    const socket = await openUntaken(async (request) => {
      if (requests.push(request) === 2) second.resolve();
      return "x".repeat(50_000);
    });
    // 19 MB, some of which is buffered by both systems.
    for (let i = 0; i < 400; i++) socket.write(post("/2", "").repeat(1000));
    await within("the second request", second.promise);
    await setTimeout(500);
    expect(requests[0]?.socket).toMatchObject({ destroyed: false });
    expect(requests[0]?.socket.readableLength).toBeLessThan(1_000_000);
  });
});

async function hash(chunks: Iterable<string> | AsyncIterable<Buffer>): Promise<string> {
  const sum = createHash("sha256");
  for await (const chunk of chunks) sum.update(chunk);
  return sum.digest("hex");
}

describe.skipIf(!hasOpenssl)("with a CA of clients", () => {
  /** A server, and clients of its CA and of another. */
  async function openForClients() {
    const folder = await createTemporaryFolder();
    const root = createCertificate(folder.path, "root");
    const [ca, stranger] = ["ca", "stranger"].map((name) =>
      createCertificate(folder.path, name, { ca: root, isCa: true }),
    ) as [Certificate, Certificate];
    const { pem, ...files } = createCertificate(folder.path, "server");
    const clientCaFile = join(folder.path, "live-ca.crt");
    copyFileSync(ca.certFile, clientCaFile);
    const refused = vi.fn();
    const server = await openTestService({
      tls: { ...files, clientCaFile },
      traffic: { opened: () => {}, refused },
      catalog: {
        async *watchVolumes() {
          yield* [{ id: 1n }, { id: 2n }];
        },
      },
    });
    onTestFinished(async () => {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    });
    const clientOf = (name: string, signer: Certificate) =>
      readTlsMaterial(createCertificate(folder.path, name, { ca: signer }));
    const client = clientOf("client", ca);
    const others = { none: undefined, "one of another CA": clientOf("other", stranger) };
    return { server, refused, pem, clientCaFile, client, stranger, others };
  }

  test.each<HttpVersion>(["1.1", "2"])(
    "over HTTP/%s, its clients call, and others fail in the handshake",
    async (version) => {
      const { server, refused, pem, client, others } = await openForClients();
      const call = { origin: server.origin, version, ca: pem } as const;
      expect((await exchange({ ...call, ...createRequest, client })).body.toString()).toBe(answer);
      const path = "/v1/shelves/a/volumes:watch";
      const stream = await exchange({ ...call, method: "GET", path, client });
      expect(stream.body.toString().trim().split("\n")).toHaveLength(2);
      let count = 0;
      for (const [what, other] of Object.entries(others)) {
        const given = { ...call, ...createRequest, ...(other && { client: other }) };
        await expect(exchange(given), what).rejects.toThrow(/certificate|ECONNRESET|hang up|close/);
        await vi.waitFor(() => expect(refused).toHaveBeenCalledTimes(++count), patienceMs);
      }
      expect(refused.mock.calls.flat().map(({ kind }) => kind)).toEqual(["handshake", "handshake"]);
      expect(server.created).toHaveLength(1);
    },
  );

  test("another CA takes its place without a restart, and no session of before is resumed", async () => {
    const { server, pem, client, clientCaFile, stranger, others } = await openForClients();
    const { port } = server;
    const socket = tls.connect({ port, host: "127.0.0.1", ca: pem, ...client });
    const [session] = await within("a session", once(socket, "session"));
    socket.destroy();
    const call = { origin: server.origin, version: "2", ca: pem, ...createRequest } as const;
    const isAdmitted = async (one: typeof client) => {
      const [{ status }] = await Promise.allSettled([exchange({ ...call, client: one })]);
      return status === "fulfilled";
    };
    expect(await isAdmitted(client)).toBe(true);
    renameSync(stranger.certFile, clientCaFile);
    const renewed = async () => {
      utimesSync(clientCaFile, new Date(), new Date());
      return await isAdmitted(others["one of another CA"]);
    };
    await expect.poll(renewed, { interval: 300 }).toBe(true);
    expect(await isAdmitted(client)).toBe(false);
    const again = tls.connect({ port, host: "127.0.0.1", ca: pem, ...client, session });
    using connection = createRawConnection(again);
    connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    expect((await connection.untilClosed()).toString()).toBe("");
  });
});

test.skipIf(!hasOpenssl).each([
  ["TLS that has not begun", false],
  ["TLS that has said nothing yet", true],
])("a drain does not wait for a connection of %s", async (_what, handshake) => {
  await using server = await openTestService({ tls: sharedCertificate() });
  using connection = await openRawConnection(server.port);
  // Where it is a later one that is complete, ours has been accepted.
  if (handshake) await shake(server.port, { socket: connection.socket });
  else await greet(server.port);
  await within("the end of the server", server.drain(10 * patienceMs));
});

describe("files for TLS", () => {
  test.skipIf(!hasOpenssl).each<[what: string, make: (folder: string) => string, reason: string]>([
    ["not there", () => "no.crt", "ENOENT"],
    ["a key", (folder) => createCertificate(folder, "a").keyFile, "it has no certificate in PEM"],
    [
      "a certificate that signs none",
      (folder) => createCertificate(folder, "a", { ca: createCertificate(folder, "ca") }).certFile,
      "CN=a is the certificate of no CA",
    ],
  ])("of which that of the CA is %s fail the start", async (_what, make, reason) => {
    await using folder = await createTemporaryFolder();
    const files = createCertificate(folder.path, "server");
    const given = { ...files, clientCaFile: make(folder.path) };
    const message = `${given.clientCaFile} cannot be used as a CA: `;
    await expect(openTestService({ tls: given })).rejects.toThrow(TlsFilesError);
    await expect(openTestService({ tls: given })).rejects.toThrow(message);
    await expect(openTestService({ tls: given })).rejects.toThrow(reason);
  });

  test.skipIf(!hasOpenssl)(
    "may trust one client alone, whose certificate signs itself",
    async () => {
      await using folder = await createTemporaryFolder();
      const { certFile, pem } = createCertificate(folder.path, "a", { isCa: false });
      expect(String(readCa(certFile))).toBe(pem);
    },
  );
});
