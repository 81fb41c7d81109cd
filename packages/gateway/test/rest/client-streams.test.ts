/** Methods that receive a stream of messages. */
import { once } from "node:events";
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { CreateVolumeRequest } from "../gen/library/v1/catalog_pb.ts";
import { askCatalog, type Catalog, openShelves, versions } from "../support/catalog.ts";
import { jsonOf, type TestGatewayOptions } from "../support/gateway.ts";
import { openRawConnection } from "../support/raw-connection.ts";
import { within } from "../support/within.ts";

const ndjson = "application/x-ndjson";
const array = "application/json";

/** Stores what it receives. */
function createImport() {
  const received: CreateVolumeRequest[] = [];
  const catalog: Catalog = {
    async importVolumes(requests) {
      for await (const request of requests) received.push(request);
      return { count: BigInt(received.length) };
    },
  };
  return { received, catalog };
}

const importPath = "/v1/shelves/a/volumes:import";

describe.each(versions)("client streaming over HTTP/%s:", (version) => {
  type Options = Partial<TestGatewayOptions> & { query?: string; more?: Record<string, string> };

  async function sendBody(
    type: string,
    body: string,
    { query = "", more = {}, ...options }: Options = {},
  ) {
    const { received, catalog } = createImport();
    const headers = { ...(type !== "" && { "content-type": type }), ...more };
    const request = { version, path: importPath + query, headers, body };
    return { response: await askCatalog(catalog, request, options), received };
  }

  test.each<[what: string, type: string, body: string, titles: string[]]>([
    ["lines", ndjson, '{"title":"a"}\n{"title":"b"}\n', ["a", "b"]],
    ["blank lines", ndjson, '\n{"title":"a"}\n \n\r\n{"title":"b"}\r\n\n', ["a", "b"]],
    ["no line", ndjson, "", []],
    ["no body, and no type", "", "", []],
    ["an array", array, '[{"title":"a"},{"title":"b"}]', ["a", "b"]],
    ["an empty array", array, "[]", []],
  ])("%s", async (_what, type, body, titles) => {
    const { response, received } = await sendBody(type, body);
    expect(received.map(({ volume }) => volume?.title)).toEqual(titles);
    expect(response.status).toBe(200);
    expect(jsonOf(response)).toEqual(titles.length === 0 ? {} : { count: String(titles.length) });
  });

  test.each<[what: string, type: string, body: string, status: number, before: number, object?]>([
    ["a line that is no JSON", ndjson, '{}\n{"title"\n{}', 400, 1],
    ["a member that no field has", ndjson, '{"isbn":1}\n', 400, 0],
    ["an object for an array", array, '{"title":"a"}', 400, 0],
    ["an array that does not end", array, '[{"title":"a"},{}', 400, 1],
    ["a second array", array, "[][]", 400, 0],
    ["another type", "text/plain", "{}", 415, 0],
    ["no type", "", "{}", 415, 0],
    ["a coding that is not read in pieces", ndjson, "", 415, 0, { "content-encoding": "br" }],
  ])("%s is rejected: %4$s", async (_what, type, body, status, before, more = {}) => {
    const { response, received } = await sendBody(type, body, { more: { ...more } });
    expect(response.status).toBe(status);
    expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument });
    expect(received).toHaveLength(before);
  });

  test.each([
    [ndjson, `{}\n{"title":"${"a".repeat(200)}"}\n`],
    [array, `[{},{"title":"${"a".repeat(200)}"}]`],
  ])("a message above readMaxBytes is rejected with 413, like a body: %s", async (type, body) => {
    const { response, received } = await sendBody(type, body, { readMaxBytes: 100 });
    expect(response.status).toBe(413);
    expect(jsonOf(response)).toMatchObject({ code: Code.ResourceExhausted });
    expect(received).toHaveLength(1);
  });

  test.each([
    ["a message above readMaxBytes", ndjson, `{"title":"${"a".repeat(200)}"}\n`],
    ["another type", "text/plain", "{}"],
  ])("%s is a ConnectError to interceptors, like any client error", async (_what, type, body) => {
    const seen: unknown[] = [];
    const see: Interceptor = (next) => async (request) => {
      try {
        return await next(request);
      } catch (error) {
        seen.push(error);
        throw error;
      }
    };
    await sendBody(type, body, { readMaxBytes: 100, interceptors: [see] });
    expect(seen).toMatchObject([expect.any(ConnectError)]);
  });

  test("readMaxBytes applies to each message, not to all together", async () => {
    const body = '{"title":"aaaaaaaaaa"}\n'.repeat(100);
    const { received } = await sendBody(ndjson, body, { readMaxBytes: 100 });
    expect(received).toHaveLength(100);
  });

  test("path and query apply to each message", async () => {
    const body = '{"id":1}\n{"id":2}\n';
    const { received } = await sendBody(ndjson, body, { query: "?validateOnly=true" });
    expect(received).toMatchObject([
      { parent: "shelves/a", validateOnly: true, volume: { id: 1n } },
      { parent: "shelves/a", validateOnly: true, volume: { id: 2n } },
    ]);
  });

  test.each([
    ["lines", ndjson, ""],
    ["no body, and no type", "", ""],
  ])("an invalid query is rejected even without a message: %s", async (_what, type, body) => {
    const { response } = await sendBody(type, body, { query: "?validateOnly=x" });
    expect(response.status).toBe(400);
  });

  test("an error of the implementation has its status although the body continues", async () => {
    await using gateway = await openShelves({
      importVolumes() {
        throw new ConnectError("full", Code.FailedPrecondition);
      },
    });
    const headers = { "content-type": ndjson };
    const response = await gateway.send({ version, path: importPath, headers, body: "{}\n" });
    expect(jsonOf(response)).toMatchObject({ code: Code.FailedPrecondition, message: "full" });
  });
});

describe("a client that streams", () => {
  const head = `POST ${importPath} HTTP/1.1\r\nHost: a\r\nContent-Type: ${ndjson}\r\nTransfer-Encoding: chunked\r\n\r\n`;

  test("is received message by message, and so is its leaving", async () => {
    const first = Promise.withResolvers<string | undefined>();
    const left = Promise.withResolvers<boolean>();
    await using gateway = await openShelves({
      async importVolumes(requests, { signal }) {
        try {
          for await (const { volume } of requests) first.resolve(volume?.title);
        } finally {
          if (!signal.aborted) await once(signal, "abort");
          left.resolve(signal.aborted);
        }
        return {};
      },
    });
    using connection = await openRawConnection(gateway.port);
    connection.write(`${head}e\r\n{"title":"a"}\n\r\n`);
    expect(await within("the first message", first.promise)).toBe("a");
    connection.socket.resetAndDestroy();
    expect(await within("the end", left.promise)).toBe(true);
  });

  test("waits while the implementation does not read", async () => {
    const open = Promise.withResolvers<void>();
    let count = 0;
    await using gateway = await openShelves({
      async importVolumes(requests) {
        await open.promise;
        for await (const _ of requests) count++;
        return { count: BigInt(count) };
      },
      getVolume: () => ({}),
    });
    using connection = await openRawConnection(gateway.port);
    const line = `{"title":"${"a".repeat(99_987)}"}\n`;
    connection.write(head + `${line.length.toString(16)}\r\n${line}\r\n`.repeat(500));
    for (let still = 0, last = -1; still < 20; last = connection.socket.bytesWritten) {
      await gateway.send({ method: "GET", path: "/v1/volumes/1" });
      still = connection.socket.bytesWritten === last ? still + 1 : 0;
    }
    expect(connection.socket.writableLength).toBeGreaterThan(0);
    open.resolve();
    connection.write("0\r\n\r\n");
    await connection.until("the answer", (bytes) => bytes.includes('{"count":"500"}'));
  });

  test("sends the rest, although the method has asked for the first message alone", async () => {
    await using gateway = await openShelves({
      async importVolumes(requests) {
        await requests[Symbol.asyncIterator]().next();
        return {};
      },
    });
    using connection = await openRawConnection(gateway.port);
    const line = `{"title":"${"a".repeat(99_987)}"}\n`;
    connection.write(head + `${line.length.toString(16)}\r\n${line}\r\n`.repeat(200));
    connection.write("0\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: a\r\n\r\n");
    await connection.until("the next answer", (bytes) => bytes.includes("HTTP/1.1 404"));
  });
});
