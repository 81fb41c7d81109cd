/** The end of a server: what becomes of running calls, and no client delays it beyond the limit. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import type { NodeHandler } from "../../src/index.ts";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { envelope } from "../support/envelope.ts";
import { exchange, type HttpVersion } from "../support/exchange.ts";
import { flag, frame, framesIn, frameType, greeting, http2Bytes, sees } from "../support/frames.ts";
import { grpcProtocol, openProtocols } from "../support/open-client.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { openTestService } from "../support/test-service.ts";
import {
  answer,
  createPath,
  createRequest,
  createRpcPath,
  data,
  headers,
  post,
  volume,
} from "../support/volumes.ts";
import { patienceMs, within } from "../support/within.ts";

const atRest = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
const http1Head = post(volume, { more: "Host: a\r\nExpect: 100-continue\r\n" }).replace(volume, "");
const halfStream = http2Bytes(headers(1, { more: [["expect", "100-continue"]] }));
const has = (text: string) => (received: Buffer) => received.includes(text);

interface Row {
  readonly what: string;
  readonly bytes: Uint8Array | string;
  /** Whether the server's output shows that it has read the bytes. */
  readonly isRead?: (received: Buffer) => boolean;
  /** It owes and awaits nothing, so that a drain has no reason to wait. */
  readonly isIdle?: true;
  /** In what it gets, if its call is aborted. */
  readonly told?: string;
}

/** None of these ends its side of the connection, whatever the server does. */
const clients: readonly Row[] = [
  { what: "has said nothing", bytes: "", isIdle: true },
  { what: "has said a part of its headers", bytes: http1Head.slice(0, 30) },
  { what: "has said a part of its body", bytes: `${http1Head}{`, isRead: has("100"), told: "503" },
  { what: "rests on HTTP/1.1", bytes: atRest, isRead: has("ok"), isIdle: true },
  { what: "was refused", bytes: "garbage\r\n\r\n", isRead: has("400") },
  { what: "rests on HTTP/2", bytes: http2Bytes(), isRead: sees(frameType.settings), isIdle: true },
  { what: "has half a stream", bytes: halfStream, isRead: sees(frameType.headers), told: "down" },
  {
    what: "has a stream that was refused amid its body",
    bytes: http2Bytes(headers(1, { type: "text/plain" })),
    isRead: sees(frameType.data),
  },
];

test.concurrent.each(clients)("a drain ends despite a client that $what", async (row) => {
  const { what, bytes, isRead, isIdle, told = "" } = row;
  await using service = await openTestService(
    isIdle && { limits: { requestTimeoutMs: 10 * patienceMs } },
  );
  using connection = await openRawConnection(service.port);
  connection.write(bytes);
  if (isRead !== undefined) await connection.until(what, isRead);
  await within("the end of the server", service.drain(isIdle ? 10 * patienceMs : 200));
  expect(`${await connection.untilClosed()}`).toContain(told);
});

/** The path of a message, and the answer to one that is too large. */
const faces: readonly [name: string, path: string, type: string, refusal: string][] = [
  ["REST", createPath, "application/json", `"code":${Code.ResourceExhausted}`],
  ["Connect JSON", createRpcPath, "application/json", '"resource_exhausted"'],
  ["Connect binary", createRpcPath, "application/proto", '"resource_exhausted"'],
  ["gRPC-Web", createRpcPath, "application/grpc-web+proto", "grpc-status: 8"],
  ["gRPC", createRpcPath, "application/grpc", "grpc-status: 8"],
];

const refusals = faces.flatMap(([name, path, type, refusal]) => {
  const versions: readonly HttpVersion[] = name === "gRPC" ? ["2"] : ["1.1", "2"];
  return versions.map((version) => ({ name, version, path, type, refusal }));
});

const request = { parent: "shelves/a", volume: { id: 1n, title: "Emma" } };

describe("a drain", () => {
  test.each(refusals)(
    "does not wait for the rest of a body rejected over $name over HTTP/$version",
    async ({ version, path, type, refusal }) => {
      await using service = await openTestService({ readMaxBytes: 1024 * 1024 });
      const message = Buffer.alloc(2 * 1024 * 1024, "x");
      const response = await exchange({
        ...{ origin: service.origin, version, path },
        headers: { "content-type": type },
        body: type.includes("grpc") ? envelope(message) : message,
      });
      const fields = [...response.headers, ...response.trailers].map((field) => field.join(": "));
      expect(`${fields.join("\n")}\n${response.body}`).toContain(refusal);
      await within("the end of the server", service.drain(10 * patienceMs));
    },
  );

  test("answers requests that were in flight when it began", async () => {
    await using service = await openTestService();
    using connection = await openRawConnection(service.port);
    const goaways = (received: Buffer) =>
      framesIn(received).filter(({ type }) => type === frameType.goaway);
    connection.write(http2Bytes(headers(1), data(1, volume)));
    await connection.until("the first response", sees(frameType.data));
    const closed = service.drain(2000);
    const begun = framesIn(await connection.until("a PING", sees(frameType.ping)));
    const ping = begun.find(({ type }) => type === frameType.ping);
    const ack = frame(frameType.ping, { flags: flag.ack, payload: ping?.payload ?? Buffer.of() });
    connection.write(Buffer.concat([headers(3), data(3, volume), ack]));
    const received = await connection.until("the last GOAWAY", (all) => goaways(all).length > 1);
    const [first, second] = goaways(received).map(({ payload }) => payload.toString("hex"));
    expect([first, second]).toEqual(["7fffffff00000000", "0000000300000000"]);
    const all = framesIn(await connection.untilClosed());
    expect(all).toContainEqual(expect.objectContaining({ type: frameType.data, streamId: 3 }));
    connection.end();
    await closed;
  });

  test.each([
    ["at rest", atRest, post(volume), "Connection: close"],
    ["that has sent nothing before", "", post(volume), "Connection: close"],
    ["that has not begun HTTP/2 before", "", http2Bytes(headers(1), data(1, volume)), ""],
  ])("answers a request that was in flight on a connection %s", async (_, before, bytes, last) => {
    await using service = await openTestService();
    using connection = await openRawConnection(service.port);
    connection.write(before);
    await exchange({ origin: service.origin, version: "1.1", path: "/healthz" }); // accepted later
    const closed = service.drain(10 * patienceMs);
    connection.write(bytes);
    expect(`${await connection.untilClosed()}`).toMatch(new RegExp(`${last}.*Emma`, "s"));
    await closed;
  });

  test.each([
    ["is under way", 0],
    ["comes meanwhile", 1],
    ["comes after others meanwhile", 3],
  ])("says so in the answer to the last request, which %s, over HTTP/1.1", async (_what, more) => {
    await using service = await openTestService();
    using hold = service.hold();
    using connection = await openRawConnection(service.port);
    connection.write(post(volume));
    await hold.untilBegun();
    const closed = service.drain(2000);
    connection.write(post(volume).repeat(more));
    await expect.poll(() => service.created.length).toBe(1 + more);
    hold.release();
    const fields = (await connection.untilClosed()).toString().match(/^connection: .*/gim);
    expect(fields).toEqual([...Array(more).fill("Connection: keep-alive"), "Connection: close"]);
    await closed;
  });

  test.each([
    ["before it", ""],
    ["behind another", post(volume)],
  ])("keeps the connection of an upload answered amid its body, sent %s", async (_when, first) => {
    const begun = Promise.withResolvers<void>();
    const refused = Promise.withResolvers<void>();
    const early: NodeHandler = async (_request, response) => {
      begun.resolve();
      await refused.promise;
      response.end("no");
    };
    await using service = await openTestService({ handlers: () => new Map([["/early", early]]) });
    using hold = service.hold();
    using connection = await openRawConnection(service.port);
    const upload = "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab";
    connection.write(first || upload);
    await within("the request", first ? hold.untilBegun() : begun.promise);
    const closed = service.drain(2000);
    if (first) connection.write(upload);
    await within("the upload", begun.promise);
    hold.release();
    refused.resolve();
    const received = await connection.until("the answer", (all) => all.includes("no"));
    expect(`${received}`).not.toMatch(/^connection: close/im);
    connection.write("cd");
    await connection.untilClosed();
    await closed;
  });

  test.each(openProtocols)(
    "aborts calls after its timeout as unavailable, over $name",
    async ({ open, version }) => {
      const options = version === "2" ? { shutdownSignal: new AbortController().signal } : {};
      await using server = await openTestService(options);
      using hold = server.hold();
      using caller = open(CatalogService, server.origin);
      const volumes = caller.client.watchVolumes({})[Symbol.asyncIterator]();
      expect(await volumes.next()).toMatchObject({ done: false });
      const refused = [caller.client.createVolume(request), volumes.next()].map((call) =>
        expect(call).rejects.toMatchObject({ code: Code.Unavailable }),
      );
      await hold.untilBegun();
      const drained = server.drain(50);
      await Promise.all(refused);
      caller[Symbol.dispose]();
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

  test("may wait indefinitely, and leaves no timer", async () => {
    using begun = vi.spyOn(globalThis, "setTimeout");
    using cleared = vi.spyOn(globalThis, "clearTimeout");
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
    const { calls, results } = begun.mock;
    const long = results.filter((_, i) => Number(calls[i]?.[1]) > 1e9).map(({ value }) => value);
    expect(cleared.mock.calls.flat()).toEqual(expect.arrayContaining([...long, expect.anything()]));
  });
});
