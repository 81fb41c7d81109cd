/** Methods that answer, or are sent, a stream of messages. */
import { once } from "node:events";
import http from "node:http";
import http2 from "node:http2";
import {
  Code,
  ConnectError,
  type ConnectRouterOptions,
  type ServiceImpl,
} from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openRawConnection } from "../../support/raw-connection.ts";
import { within } from "../../support/within.ts";
import { createCatalog } from "../catalog-server.ts";
import {
  CatalogService,
  type CreateVolumeRequest,
  type UploadVolumeRequest,
} from "../gen/library/v1/catalog_pb.ts";
import {
  jsonOf,
  openGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../support/gateway.ts";

type Catalog = Partial<ServiceImpl<typeof CatalogService>>;

function openCatalog(
  catalog: Catalog,
  options: Partial<TestGatewayOptions> = {},
  own?: ConnectRouterOptions,
) {
  return openGateway({
    routes: (router) => {
      router.service(CatalogService, catalog, own);
    },
    ...options,
  });
}

const watch = { method: "GET", path: "/v1/shelves/a/volumes:watch" };
const versions = ["1.1", "2"] as const;

const ndjson = "application/x-ndjson";
const sse = "text/event-stream";
const array = "application/json";

describe.each(versions)("server streaming over HTTP/%s:", (version) => {
  const two: Catalog = {
    async *watchVolumes() {
      yield { id: 1n };
      yield { title: "b\nc" };
    },
  };
  const none: Catalog = { async *watchVolumes() {} };
  const late: Catalog = {
    async *watchVolumes() {
      yield { id: 1n };
      throw new ConnectError("late", Code.DataLoss);
    },
  };
  const secret: Catalog = {
    async *watchVolumes() {
      yield { id: 1n };
      throw new Error("secret");
    },
  };
  const error = (code: Code, message: string) => JSON.stringify({ code, message, details: [] });

  test.each<[what: string, accept: string, catalog: Catalog, type: string, body: string]>([
    ["two messages", ndjson, two, ndjson, '{"id":"1"}\n{"title":"b\\nc"}\n'],
    ["two messages", sse, two, sse, 'data: {"id":"1"}\n\ndata: {"title":"b\\nc"}\n\n'],
    ["two messages", array, two, array, '[{"id":"1"},\n{"title":"b\\nc"}]\n'],
    ["what is liked best", `${array};q=0.2, ${sse};q=0.3`, none, sse, ""],
    ["anything", "*/*", none, ndjson, ""],
    ["nothing of ours", "text/html", none, ndjson, ""],
    ["no message", ndjson, none, ndjson, ""],
    ["no message", sse, none, sse, ""],
    ["no message", array, none, array, "[]\n"],
    [
      "a late error",
      ndjson,
      late,
      ndjson,
      `{"id":"1"}\n{"error":${error(Code.DataLoss, "late")}}\n`,
    ],
    [
      "a late error",
      sse,
      late,
      sse,
      `data: {"id":"1"}\n\nevent: error\ndata: ${error(Code.DataLoss, "late")}\n\n`,
    ],
    [
      "a late error",
      array,
      late,
      array,
      `[{"id":"1"},\n{"error":${error(Code.DataLoss, "late")}}]\n`,
    ],
    [
      "a late error for no one",
      ndjson,
      secret,
      ndjson,
      `{"id":"1"}\n{"error":${error(Code.Internal, "internal error")}}\n`,
    ],
  ])("%s, for %s", async (_what, accept, catalog, type, body) => {
    await using gateway = await openCatalog(catalog);
    const response = await gateway.send({ version, ...watch, headers: { accept } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.body.toString()).toBe(body);
  });

  test.each([
    ["ndjson", ndjson],
    ["sse", sse],
    ["array", array],
  ] as const)("streamFormat %s is for whom says nothing", async (streamFormat, type) => {
    await using gateway = await openCatalog(two, { rest: { streamFormat } });
    const { headers } = await gateway.send({ version, ...watch });
    expect(headers.get("content-type")).toBe(type);
  });

  test.each([ndjson, sse, array])(
    "an error before the first message has its status: %s",
    async (accept) => {
      await using gateway = await openCatalog({
        // biome-ignore lint/correctness/useYield: it fails before
        async *watchVolumes() {
          throw new ConnectError("none", Code.PermissionDenied, { "x-why": "1" });
        },
      });
      const response = await gateway.send({ version, ...watch, headers: { accept } });
      expect(response.status).toBe(403);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("x-why")).toBe("1");
      expect(jsonOf(response)).toEqual({
        code: Code.PermissionDenied,
        message: "none",
        details: [],
      });
    },
  );

  test("a request that is refused has its status", async () => {
    await using gateway = await openCatalog(two);
    const path = `${watch.path}?pageSize=x`;
    expect(await gateway.send({ version, ...watch, path })).toMatchObject({ status: 400 });
  });

  test("the request is bound as that of a unary method", async () => {
    await using gateway = await openCatalog({
      async *watchVolumes({ parent, pageSize, titles }) {
        yield { name: parent, id: BigInt(pageSize), title: titles.join() };
      },
    });
    const path = `${watch.path}?pageSize=2&titles=a&titles=b`;
    const response = await gateway.send({ version, ...watch, path });
    expect(jsonOf(response)).toEqual({ name: "shelves/a", id: "2", title: "a,b" });
  });

  test("headers arrive before, trailers behind", async () => {
    await using gateway = await openCatalog({
      async *watchVolumes(_request, { responseHeader, responseTrailer }) {
        responseHeader.set("x-head", "1");
        yield {};
        responseTrailer.set("x-tail", "2");
      },
    });
    const response = await gateway.send({ version, ...watch });
    expect(response.headers.get("x-head")).toBe("1");
    expect(response.trailers.get("x-tail")).toBe("2");
  });

  test("HEAD has the head of GET", async () => {
    await using gateway = await openCatalog(two);
    const response = await gateway.send({ version, ...watch, method: "HEAD" });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(ndjson);
    expect(response.body).toHaveLength(0);
  });

  test("int64 as number in each message", async () => {
    await using gateway = await openCatalog(two, { rest: { int64: "number" } });
    const { body } = await gateway.send({ version, ...watch });
    expect(body.toString()).toBe('{"id":1}\n{"title":"b\\nc"}\n');
  });
});

/** Opens the stream, and returns what leaves it; the answer is read, or not. */
type Open = (gateway: TestGateway, path: string) => Promise<() => void>;

const clients: readonly [version: string, open: Open][] = [
  [
    "1.1",
    async (gateway, path) => {
      const connection = await openRawConnection(gateway.port);
      connection.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      await connection.until("the head", (bytes) => bytes.includes("\r\n\r\n"));
      connection.socket.pause();
      return () => connection.socket.resetAndDestroy();
    },
  ],
  [
    "2",
    async (gateway, path) => {
      const session = http2.connect(gateway.origin("2"));
      const stream = session.request({ ":path": path });
      stream.on("error", () => {});
      await within("the head", once(stream, "response"));
      return () => session.destroy();
    },
  ],
];

describe.each(clients)("over HTTP/%s a client", (_version, open) => {
  test("that leaves ends the call, and the implementation's generator", async () => {
    const aborted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    await using gateway = await openCatalog({
      async *watchVolumes(_request, { signal }) {
        try {
          yield { id: 1n };
          if (!signal.aborted) await once(signal, "abort");
          aborted.resolve();
          yield { id: 2n };
          yield { id: 3n };
        } finally {
          ended.resolve();
        }
      },
    });
    const leave = await open(gateway, watch.path);
    leave();
    await within("the abort", aborted.promise);
    await within("the end of the generator", ended.promise);
  });

  test("that does not read holds the implementation back", async () => {
    const total = 1000;
    const title = "a".repeat(100_000);
    const aborted = Promise.withResolvers<void>();
    let yields = 0;
    const catalog: Catalog = {
      async *watchVolumes(_request, { signal }) {
        signal.addEventListener("abort", () => aborted.resolve());
        while (yields < total) {
          yields++;
          yield { title };
        }
      },
      getVolume: () => ({}),
    };
    await using gateway = await openCatalog(catalog);
    const leave = await open(gateway, watch.path);
    // Still while the server has answered others many times: it waits for the client.
    for (let still = 0, last = -1; still < 20; last = yields) {
      await gateway.send({ method: "GET", path: "/v1/volumes/1" });
      still = yields === last ? still + 1 : 0;
    }
    expect(yields).toBeGreaterThan(0);
    expect(yields).toBeLessThan(total / 2);
    leave();
    await within("the abort", aborted.promise);
    expect(yields).toBeLessThan(total / 2);
  });
});

/** Keeps what it is sent. */
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
  async function sendBody(type: string, body: string, options: Partial<TestGatewayOptions> = {}) {
    const { received, catalog } = createImport();
    await using gateway = await openCatalog(catalog, options);
    const headers = type === "" ? {} : { "content-type": type };
    const response = await gateway.send({ version, path: importPath, headers, body });
    return { response, received };
  }

  test.each<[what: string, type: string, body: string, titles: string[]]>([
    ["lines", ndjson, '{"title":"a"}\n{"title":"b"}\n', ["a", "b"]],
    ["no end behind the last", ndjson, '{"title":"a"}\n{"title":"b"}', ["a", "b"]],
    ["blank lines", ndjson, '\n{"title":"a"}\n \n\r\n{"title":"b"}\r\n\n', ["a", "b"]],
    ["no line", ndjson, "", []],
    ["a type with its charset", `${ndjson}; charset=utf-8`, '{"title":"é"}', ["é"]],
    ["an array", array, '[{"title":"a"},{"title":"b"}]', ["a", "b"]],
    ["an array in many lines", array, ' [\n{"title":\n"a"}\n,\n{} ]\n', ["a", ""]],
    ["an array with brackets in text", array, '[{"title":"],["}]', ["],["]],
    ["an empty array", array, "[]", []],
  ])("%s", async (_what, type, body, titles) => {
    const { response, received } = await sendBody(type, body);
    expect(received.map(({ volume }) => volume?.title)).toEqual(titles);
    expect(response.status).toBe(200);
    expect(jsonOf(response)).toEqual(titles.length === 0 ? {} : { count: String(titles.length) });
  });

  test.each<[what: string, type: string, body: string, status: number, before: number]>([
    ["a line that is no JSON", ndjson, '{}\n{"title"\n{}', 400, 1],
    ["a line of two values", ndjson, "{} {}\n", 400, 0],
    ["an array on a line", ndjson, "{}\n[{}]\n", 400, 1],
    ["a member that no field has", ndjson, '{"isbn":1}\n', 400, 0],
    ["an object for an array", array, '{"title":"a"}', 400, 0],
    ["nothing for an array", array, "", 400, 0],
    ["an array that does not end", array, '[{"title":"a"},{}', 400, 1],
    ["an array with a comma too many", array, '[{"title":"a"},]', 400, 1],
    ["an array with a comma missing", array, "[{},{} {}]", 400, 1],
    ["garbage behind an array", array, "[{}]x", 400, 1],
    ["a second array", array, "[{}][{}]", 400, 1],
    ["another type", "text/plain", "{}", 415, 0],
    ["no type", "", "{}", 415, 0],
    ["another charset", `${ndjson}; charset=latin1`, "{}", 415, 0],
  ])("%s is refused: %4$s", async (_what, type, body, status, before) => {
    const { response, received } = await sendBody(type, body);
    expect(response.status).toBe(status);
    expect(jsonOf(response)).toMatchObject({ code: Code.InvalidArgument });
    expect(received).toHaveLength(before);
  });

  test.each([
    [ndjson, `{}\n{"title":"${"a".repeat(200)}"}\n`],
    [array, `[{},{"title":"${"a".repeat(200)}"}]`],
  ])("a message above readMaxBytes is refused: %s", async (type, body) => {
    const { response, received } = await sendBody(type, body, { readMaxBytes: 100 });
    expect(response.status).not.toBe(200);
    expect(jsonOf(response)).toMatchObject({ code: Code.ResourceExhausted });
    expect(received).toHaveLength(1);
  });

  test("readMaxBytes is for each message, not for all", async () => {
    const body = '{"title":"aaaaaaaaaa"}\n'.repeat(100);
    const { received } = await sendBody(ndjson, body, { readMaxBytes: 100 });
    expect(received).toHaveLength(100);
  });

  test("path and query are said in each message", async () => {
    const { received, catalog } = createImport();
    await using gateway = await openCatalog(catalog);
    const headers = { "content-type": ndjson };
    const path = `${importPath}?validateOnly=true`;
    await gateway.send({ version, path, headers, body: '{"id":1}\n{"id":2}\n' });
    expect(received).toMatchObject([
      { parent: "shelves/a", validateOnly: true, volume: { id: 1n } },
      { parent: "shelves/a", validateOnly: true, volume: { id: 2n } },
    ]);
  });

  test("an error of the implementation has its status, though the body goes on", async () => {
    await using gateway = await openCatalog({
      importVolumes() {
        throw new ConnectError("full", Code.FailedPrecondition);
      },
    });
    const headers = { "content-type": ndjson };
    const response = await gateway.send({ version, path: importPath, headers, body: "{}\n" });
    expect(jsonOf(response)).toMatchObject({ code: Code.FailedPrecondition, message: "full" });
  });
});

test("any pieces of a body carry the same messages", async () => {
  const { received, catalog } = createImport();
  await using gateway = await openCatalog(catalog);
  const agent = new http.Agent({ keepAlive: true });
  const sendPieces = async (type: string, pieces: readonly Buffer[]) => {
    const headers = { "content-type": type };
    const url = gateway.origin("1.1") + importPath;
    const request = http.request(url, { agent, method: "POST", headers });
    request.setNoDelay(true);
    for (const piece of pieces) {
      await new Promise((resolve) => {
        request.write(piece, resolve);
      });
    }
    request.end();
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    await response.toArray();
    return response.statusCode;
  };
  try {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: "grapheme", maxLength: 5 }), { maxLength: 4 }),
        fc.array(fc.nat({ max: 1000 }), { maxLength: 5 }),
        async (titles, cuts) => {
          const texts = titles.map((title) => JSON.stringify({ title }));
          for (const [type, text] of [
            [ndjson, texts.map((line) => `${line}\n`).join("")],
            [array, `[${texts.join(",")}]`],
          ] as const) {
            received.length = 0;
            const bytes = Buffer.from(text);
            const places = cuts.map((place) => place % (bytes.length + 1));
            const at = [0, ...places.sort((a, b) => a - b), bytes.length];
            const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
            expect(
              await sendPieces(
                type,
                pieces.filter(({ length }) => length > 0),
              ),
            ).toBe(200);
            expect(received.map(({ volume }) => volume?.title)).toEqual(titles);
          }
        },
      ),
      { numRuns: 40 },
    );
  } finally {
    agent.destroy();
  }
});

describe("a client that streams", () => {
  const head = `POST ${importPath} HTTP/1.1\r\nHost: a\r\nContent-Type: ${ndjson}\r\nTransfer-Encoding: chunked\r\n\r\n`;

  test("is heard message by message, and by its leaving", async () => {
    const first = Promise.withResolvers<string | undefined>();
    const left = Promise.withResolvers<boolean>();
    await using gateway = await openCatalog({
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
    await using gateway = await openCatalog({
      async importVolumes(requests) {
        await open.promise;
        for await (const _ of requests) count++;
        return { count: BigInt(count) };
      },
      getVolume: () => ({}),
    });
    using connection = await openRawConnection(gateway.port);
    const line = `{"title":"${"a".repeat(99_987)}"}\n`;
    const chunk = `${line.length.toString(16)}\r\n${line}\r\n`;
    connection.write(head + chunk.repeat(500));
    for (let still = 0, last = -1; still < 20; last = connection.socket.bytesWritten) {
      await gateway.send({ method: "GET", path: "/v1/volumes/1" });
      still = connection.socket.bytesWritten === last ? still + 1 : 0;
    }
    expect(connection.socket.writableLength).toBeGreaterThan(0);
    open.resolve();
    connection.write("0\r\n\r\n");
    await connection.until("the answer", (bytes) => bytes.includes('{"count":"500"}'));
  });
});

describe.each(versions)("google.api.HttpBody over HTTP/%s:", (version) => {
  const every = Uint8Array.from({ length: 5000 }, (_, i) => i % 256);
  const volume = "/v1/shelves/a/volumes/1";

  async function openOne() {
    const gateway = await openCatalog(createCatalog());
    const headers = { "content-type": "application/json" };
    await gateway.send({ path: "/v1/shelves/a/volumes", headers, body: '{"id":1}' });
    return gateway;
  }

  test.each<[what: string, contentType: string, data: Uint8Array]>([
    ["every byte", "application/octet-stream", every],
    ["text", "text/plain; charset=utf-8", Buffer.from("é 🌱\r\n")],
    ["JSON as it is", "application/json", Buffer.from('{ "a" : 1.0 }')],
    ["a type of its own", "application/vnd.library+zip; v=2", every.subarray(0, 3)],
    ["one byte", "image/png", Buffer.of(0)],
  ])("%s goes up and down as it is, whole or in pieces", async (_what, contentType, data) => {
    const uploads = [
      { method: "PUT", path: `${volume}:upload` },
      { method: "POST", path: `${volume}:append` },
    ];
    for (const upload of uploads) {
      await using gateway = await openOne();
      const headers = { "content-type": contentType };
      const answer = await gateway.send({ version, ...upload, headers, body: data });
      expect(jsonOf(answer)).toEqual({ name: "shelves/a/volumes/1", id: "1" });
      for (const verb of ["download", "stream"]) {
        const path = `${volume}:${verb}`;
        const response = await gateway.send({ version, method: "GET", path });
        expect(response.status).toBe(200);
        expect(response.headers.get("content-type")).toBe(contentType);
        expect(response.body.equals(data)).toBe(true);
      }
    }
  });

  test("an empty body is one", async () => {
    await using gateway = await openOne();
    const headers = { "content-type": "text/plain" };
    const path = `${volume}:upload`;
    expect(await gateway.send({ version, method: "PUT", path, headers })).toMatchObject({
      status: 200,
    });
    const response = await gateway.send({ version, method: "GET", path: `${volume}:download` });
    expect(response.headers.get("content-type")).toBe("text/plain");
    expect(response.body).toHaveLength(0);
  });

  test.each(["download", "stream"])(
    "what was never set is empty, and has no type: %s",
    async (verb) => {
      await using gateway = await openOne();
      const response = await gateway.send({ version, method: "GET", path: `${volume}:${verb}` });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBeNull();
      expect(response.body).toHaveLength(0);
    },
  );

  test.each(["download", "stream"])("an error is JSON: %s", async (verb) => {
    await using gateway = await openOne();
    const path = `/v1/shelves/a/volumes/2:${verb}`;
    const response = await gateway.send({ version, method: "GET", path });
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(jsonOf(response)).toMatchObject({ code: Code.NotFound });
  });

  test("a body without a type has none, and is above no limit", async () => {
    const received: UploadVolumeRequest[] = [];
    const catalog: Catalog = {
      uploadVolume(request) {
        received.push(request);
        return {};
      },
    };
    await using gateway = await openCatalog(catalog, { readMaxBytes: 10 });
    const upload = { version, method: "PUT", path: `${volume}:upload` };
    expect(await gateway.send({ ...upload, body: "0123456789" })).toMatchObject({ status: 200 });
    expect(await gateway.send({ ...upload, body: "0123456789a" })).toMatchObject({ status: 413 });
    expect(received).toMatchObject([{ name: "shelves/a/volumes/1", content: { contentType: "" } }]);
    expect(Buffer.from(received[0]?.content?.data ?? []).toString()).toBe("0123456789");
  });

  test("pieces carry the name and the type, each", async () => {
    const received: UploadVolumeRequest[] = [];
    await using gateway = await openCatalog({
      async appendVolume(requests) {
        for await (const request of requests) received.push(request);
        return {};
      },
    });
    const headers = { "content-type": "image/png" };
    const body = Buffer.alloc(300_000, 7);
    await gateway.send({ version, path: `${volume}:append`, headers, body });
    expect(received.length).toBeGreaterThan(1);
    for (const { name, content } of received) {
      expect([name, content?.contentType]).toEqual(["shelves/a/volumes/1", "image/png"]);
    }
    const pieces = received.map(({ content }) => content?.data ?? Buffer.of());
    expect(Buffer.concat(pieces).equals(body)).toBe(true);
  });

  test("a content type that is no header is an internal error", async () => {
    await using gateway = await openCatalog({
      downloadVolume: () => ({ contentType: "text/plain\r\nx-evil: 1" }),
    });
    const path = `${volume}:download`;
    const response = await gateway.send({ version, method: "GET", path });
    expect(response.status).toBe(500);
    expect(response.headers.get("x-evil")).toBeNull();
  });
});
