/** The effect of a drain on running calls. */
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { NodeHandler } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { answer, createRequest, headers } from "../support/create-volume.ts";
import { findFreePort } from "../support/free-port.ts";
import { exchange, type HttpVersion } from "../support/http-exchange.ts";
import { isListening } from "../support/is-listening.ts";
import { grpcProtocol, openProtocols } from "../support/open-client.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { greeting } from "../support/raw-http2.ts";
import { openTestService } from "../support/test-service.ts";
import { within } from "../support/within.ts";

const versions: readonly HttpVersion[] = ["1.1", "2"];
const request = { parent: "shelves/a", volume: { id: 1n, title: "Emma" } };

describe("a drain", () => {
  test.each(openProtocols)("lets running calls finish, over $name", async ({ open }) => {
    await using server = await openTestService({ port: await findFreePort() });
    using hold = server.hold();
    using caller = open(CatalogService, server.origin);
    const called = caller.client.createVolume(request);
    await hold.untilBegun();
    const drained = server.drain(600_000);
    expect(await isListening(server.port)).toBe(false);
    hold.release();
    expect(await called).toMatchObject({ title: "Emma" });
    caller[Symbol.dispose]();
    await within("the drain", drained);
  });

  test.each(openProtocols)(
    "aborts calls after its timeout as unavailable, over $name",
    async ({ open }) => {
      await using server = await openTestService();
      using hold = server.hold();
      using caller = open(CatalogService, server.origin);
      const volumes = caller.client.watchVolumes({})[Symbol.asyncIterator]();
      expect(await volumes.next()).toMatchObject({ done: false });
      const codes = [caller.client.createVolume(request), volumes.next()].map((call) =>
        call.then(
          () => "ok",
          (error: unknown) => ConnectError.from(error).code,
        ),
      );
      await hold.untilBegun();
      const drained = server.drain(50);
      expect(await Promise.all(codes)).toEqual([Code.Unavailable, Code.Unavailable]);
      caller[Symbol.dispose]();
      await within("the drain", drained);
    },
  );

  test.each(versions)(
    "aborts calls after its timeout as 503, over REST and HTTP/%s",
    async (version) => {
      await using server = await openTestService();
      using hold = server.hold();
      const response = exchange({ origin: server.origin, version, ...createRequest });
      await hold.untilBegun();
      const drained = server.drain(50);
      expect(await response).toMatchObject({ status: 503 });
      await within("the drain", drained);
    },
  );

  test.each([
    ["HTTP/1.1", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"],
    ["HTTP/2", Buffer.concat([greeting, headers(1, { path: "/" })])],
  ])("cuts calls that do not end even then, over %s", async (_version, bytes) => {
    const begun = Promise.withResolvers<void>();
    const never: NodeHandler = () => begun.resolve();
    await using server = await openTestService({ handlers: () => new Map([["/", never]]) });
    using connection = await openRawConnection(server.port);
    connection.write(bytes);
    await within("the request", begun.promise);
    await within("the drain", server.drain(50));
    await connection.untilClosed();
  });

  test("that is requested again may be shorter, and ends with the first", async () => {
    await using server = await openTestService();
    using hold = server.hold();
    using caller = grpcProtocol.open(CatalogService, server.origin);
    const called = caller.client.createVolume(request);
    const refused = expect(called).rejects.toMatchObject({ code: Code.Unavailable });
    await hold.untilBegun();
    const drained = [server.drain(600_000), server.drain(0)];
    await refused;
    await within("both", Promise.all(drained));
    await within("one more", server.drain(0));
  });

  test("may wait indefinitely", async () => {
    await using server = await openTestService();
    using hold = server.hold();
    const response = exchange({ origin: server.origin, version: "2", ...createRequest });
    await hold.untilBegun();
    const drained = server.drain(Number.POSITIVE_INFINITY);
    // Long enough for a timer of 0 ms.
    await new Promise((resolve) => setTimeout(resolve, 20));
    hold.release();
    expect((await response).body.toString()).toBe(answer);
    await within("the drain", drained);
  });
});
