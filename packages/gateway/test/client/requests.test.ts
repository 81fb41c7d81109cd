/** What a call sends, and where it goes. */
import { once } from "node:events";
import * as http2 from "node:http2";
import { join } from "node:path";
import { toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import {
  type GrpcTransport,
  type GrpcTransportOptions,
  LazyHeaders,
  openGrpcTransport,
} from "../../src/client/index.ts";
import { wrapEnvelope } from "../../src/rpc/envelope.ts";
import { CatalogService, VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { hasIpv6 } from "../support/has-ipv6.ts";
import { createTemporaryFolder } from "../support/temporary-folder.ts";
import { within } from "../support/within.ts";
import {
  type Answer,
  answerOk,
  answerWith,
  type FakeServerOptions,
  openFakeServer,
  valuesOf,
} from "./fake-server.ts";

const { getVolume } = CatalogService.method;

const call = (transport: GrpcTransport, header?: HeadersInit) =>
  within("an answer", transport.unary(getVolume, undefined, undefined, header, {}));

/** A server that records the headers of its calls. */
async function openRecorder(options: FakeServerOptions = {}) {
  const seen: http2.IncomingHttpHeaders[] = [];
  const seenRaw: (readonly string[] | undefined)[] = [];
  const fake = await openFakeServer((stream, headers, raw) => {
    seen.push(headers);
    seenRaw.push(raw);
    answerOk(stream, headers);
  }, options);
  return { ...fake, seen, seenRaw };
}

test.each([
  ["", "/library.v1.CatalogService/GetVolume"],
  ["/", "/library.v1.CatalogService/GetVolume"],
  ["/api/v1", "/api/v1/library.v1.CatalogService/GetVolume"],
  ["/api/v1/", "/api/v1/library.v1.CatalogService/GetVolume"],
])("below a URL that ends in %j, a method is at %s", async (path, expected) => {
  await using recorder = await openRecorder();
  const transport = openGrpcTransport({ url: recorder.url + path });
  await call(transport);
  await call(transport);
  expect(recorder.seen.map((headers) => headers[":path"])).toEqual([expected, expected]);
  transport.close();
});

const named = { userAgent: "a/1", authority: "shop.example" };

test.each<[what: string, options: Partial<GrpcTransportOptions>, agent: string, host?: string]>([
  ["by default", {}, "connect-gateway"],
  ["as its options say", { ...named, header: () => ({ "x-key": "k" }) }, "a/1", "shop.example"],
])("a client names itself and its server %s", async (_what, options, agent, host) => {
  await using recorder = await openRecorder(options);
  await call(recorder.transport);
  expect(recorder.seen).toMatchObject([
    { "user-agent": agent, ":authority": host ?? new URL(recorder.url).host },
  ]);
  expect(`${secretsOf(recorder.seen[0])}`.includes("x-key")).toBe(host !== undefined);
});

const secretsOf = (headers: unknown) =>
  (headers as { [http2.sensitiveHeaders]?: readonly string[] })[http2.sensitiveHeaders];

test("a call whose headers cannot be made takes no place on a connection", async () => {
  let calls = 0;
  const header = () => (++calls > 20 ? {} : expect.fail("no key"));
  const server = { settings: { maxConcurrentStreams: 1 } };
  await using fake = await openRecorder({ header, server });
  for (let i = 0; i < 20; i++) await expect(call(fake.transport)).rejects.toThrow("no key");
  await call(fake.transport);
  expect(fake.sessions).toHaveLength(1);
});

const fields = [
  ["X-Tenant", "acme"],
  ["User-Agent", "mine/1"],
  ["Authorization", "Bearer a"],
  ["Cookie", "session=a-long-one-that-is-worth-a-place"],
  ["Connection", "close"],
  ["Host", "other.example"],
  ["Content-Length", "1"],
  ["TE", "gzip"],
] as const;
const lowerCase = Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));

test.each<[form: string, header: HeadersInit]>([
  ["Headers", new Headers(fields as never)],
  ["pairs", fields as never],
  ["an object", Object.fromEntries(fields)],
  ["an object in lower case", lowerCase],
  ["the headers of a call", new LazyHeaders(lowerCase)],
])("headers are sent, but for those of a connection: %s", async (_form, header) => {
  await using recorder = await openRecorder();
  await call(recorder.transport, header);
  const [headers] = recorder.seen;
  expect(headers).toMatchObject({
    "x-tenant": "acme",
    "user-agent": "mine/1",
    authorization: "Bearer a",
    te: "trailers",
    "content-type": "application/grpc",
  });
  for (const name of ["connection", "host", "content-length"]) {
    expect(headers).not.toHaveProperty(name);
  }
  // Out of the table that compresses headers.
  expect(secretsOf(headers)).toEqual(expect.arrayContaining(["authorization", "cookie"]));
  expect(secretsOf(headers)).not.toContain("x-tenant");
});

const ofBytes = { "x-id-bin": "AAE, AP8B" };

test.each<[form: string, header: HeadersInit]>([
  ["Headers", new Headers(ofBytes)],
  ["an object", ofBytes],
  ["the headers of a call", new LazyHeaders(ofBytes)],
])("each value of bytes is a field of its own: %s", async (_form, header) => {
  await using recorder = await openRecorder();
  await call(recorder.transport, header);
  const [raw] = recorder.seenRaw;
  expect(valuesOf(raw, "x-id-bin")).toEqual(["AAE", "AP8B"]);
});

test.skipIf(!hasIpv6)("a server has an address of IPv6", async () => {
  await using recorder = await openRecorder({ host: "::1" });
  await call(recorder.transport);
  expect(recorder.seen).toMatchObject([{ ":authority": new URL(recorder.url).host }]);
});

test.skipIf(process.platform === "win32").each(["unix:", "unix://"])(
  "a server is at a socket of this machine: %sPATH",
  async (scheme) => {
    await using folder = await createTemporaryFolder();
    const path = join(folder.path, "a.sock");
    const seen: unknown[] = [];
    const server = http2.createServer().listen(path);
    server.on("stream", (stream: http2.ServerHttp2Stream, headers) => {
      seen.push(headers[":authority"], headers[":path"]);
      answerOk(stream, headers);
    });
    await once(server, "listening");
    const transport = openGrpcTransport({ url: scheme + path });
    await call(transport);
    expect(seen).toEqual(["localhost", "/library.v1.CatalogService/GetVolume"]);
    transport.close();
    server.close();
    await once(server, "close");
  },
);

test("an option that is none is told by its name", () => {
  const options = { url: "http://localhost", userAgnet: "a" } as GrpcTransportOptions;
  expect(() => openGrpcTransport(options)).toThrow(/openGrpcTransport.*userAgnet/);
});

/** A Volume of as many bytes. */
function volumeOf(bytes: number): Uint8Array {
  const volume = { $typeName: "library.v1.Volume" as const, name: "", title: "" };
  const write = (length: number) =>
    toBinary(VolumeSchema, { ...volume, id: 1n, title: "x".repeat(length) });
  return write(2 * bytes - write(bytes).length);
}

const MiB = 1024 * 1024;

test.each<[what: string, readMaxBytes: number | undefined, bytesMax: number]>([
  ["by default", undefined, 4 * MiB],
  ["of its own", 1000, 1000],
])("an answer has the largest message that the limit lets through, %s", async (_, given, max) => {
  let bytes = max;
  const answer: Answer = (stream, headers) => {
    const body = Buffer.from(wrapEnvelope(0, volumeOf(bytes)));
    answerWith({ "grpc-status": "0" }, { body })(stream, headers);
  };
  await using fake = await openFakeServer(answer, given ? { readMaxBytes: given } : {});
  expect(volumeOf(max)).toHaveLength(max);
  expect((await call(fake.transport)).message).toMatchObject({ id: 1n });
  bytes++;
  await expect(call(fake.transport)).rejects.toMatchObject({ code: Code.ResourceExhausted });
});
