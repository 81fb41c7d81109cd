/** The limit on connections of one address. */
import { EventEmitter } from "node:events";
import { describe, expect, test, vi } from "vitest";
import { createAddressLimit } from "../../src/server/connection-limits.ts";
import type { ServeOptions } from "../../src/server/index.ts";
import { defaultLimits } from "../../src/server/limits.ts";
import { hasOpenssl, sharedCertificate } from "../support/certificate.ts";
import { openRawConnection, type RawConnection } from "../support/raw-connection.ts";
import { openTestService, type TestService } from "../support/test-service.ts";

const connectTo = ({ port }: TestService, localAddress = "127.0.0.1") =>
  openRawConnection(port, { localAddress });

async function expectServed(connection: RawConnection): Promise<void> {
  connection.write("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
  await connection.until("an answer", (received) => received.includes('{"status":"ok"}'));
}

function openLimited(connectionsPerAddressMax: number, options: Partial<ServeOptions> = {}) {
  return openTestService({ ...options, limits: { connectionsPerAddressMax, ...options.limits } });
}

describe("connectionsPerAddressMax", () => {
  test("closes each connection above the limit, and makes room when one closes", async () => {
    let told = 0;
    const traffic = { opened: () => void told++, refused: () => {} };
    await using server = await openLimited(5, { traffic });
    using others = new DisposableStack();
    for (let i = 0; i < 3; i++) await expectServed(others.use(await connectTo(server)));
    using first = await connectTo(server);
    using second = await connectTo(server);
    await Promise.all([expectServed(first), expectServed(second)]);
    for (let i = 0; i < 3; i++) {
      using another = await connectTo(server);
      expect(await another.untilClosed()).toHaveLength(0);
    }
    expect(told).toBe(5);
    first.end();
    await first.untilClosed();
    using next = await connectTo(server);
    await expectServed(next);
    await expectServed(second);
    using another = await connectTo(server);
    expect(await another.untilClosed()).toHaveLength(0);
  });

  test("keeps nothing of an address without connections", () => {
    const admits = createAddressLimit({ ...defaultLimits, connectionsPerAddressMax: 2 });
    using forget = vi.spyOn(Map.prototype, "delete");
    const all = [1, 2].map(() => Object.assign(new EventEmitter(), { remoteAddress: "10.0.0.1" }));
    expect(all.map((socket) => admits(socket as never))).toEqual([true, true]);
    for (const socket of all) socket.emit("close");
    expect(forget.mock.calls).toEqual([["10.0.0.1"]]);
  });

  // Other addresses have their own limit.
  test.runIf(process.platform === "linux")("does not affect other addresses", async () => {
    await using server = await openLimited(1);
    using first = await connectTo(server);
    await expectServed(first);
    using other = await connectTo(server, "127.0.0.2");
    await expectServed(other);
    using another = await connectTo(server, "127.0.0.2");
    expect(await another.untilClosed()).toHaveLength(0);
  });

  test.runIf(process.platform === "linux").each<[exempt: string[], outcome: "served" | "refused"]>([
    [["127.0.0.2"], "served"],
    [["127.0.0.0/30"], "served"],
    [["0.0.0.0/0"], "served"],
    [["127.0.0.3", "::1", "::ffff:127.0.0.3", "::1/128"], "refused"],
  ])("with %j exempt, another connection of 127.0.0.2 is %s", async (exempt, outcome) => {
    await using server = await openLimited(1, { limits: { connectionsExempt: exempt } });
    using first = await connectTo(server, "127.0.0.2");
    await expectServed(first);
    using other = await connectTo(server, "127.0.0.2");
    if (outcome === "served") await expectServed(other);
    else expect(await other.untilClosed()).toHaveLength(0);
  });

  test.each(["proxy.example", "10.0.0.0/33", "10.0.0.0/", ""])("%j is none", async (address) => {
    await expect(openTestService({ limits: { connectionsExempt: [address] } })).rejects.toThrow(
      new TypeError(`must be addresses like 10.0.0.1, or blocks like 10.0.0.0/8: ${address}`),
    );
  });

  test.skipIf(!hasOpenssl)("applies over TLS, before the handshake", async () => {
    await using server = await openLimited(1, { tls: sharedCertificate() });
    const shake = () => openRawConnection(server.port, { tls: {} });
    using first = await shake();
    await expectServed(first);
    await expect(shake()).rejects.toThrow();
    first.end();
    await first.untilClosed();
    using next = await shake();
    await expectServed(next);
  });
});
