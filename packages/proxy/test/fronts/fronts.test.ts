/** The command behind nginx, HAProxy and Caddy: every protocol, streams, cancellation, errors, large bodies. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { connect, constants } from "node:http2";
import { request } from "node:https";
import { join } from "node:path";
import { Code, ConnectError, type ConnectRouter, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import {
  CatalogService,
  file_library_v1_catalog,
} from "../../../gateway/test/gen/library/v1/catalog_pb.ts";
import { createCertificate, hasOpenssl } from "../../../gateway/test/support/certificate.ts";
import { exchange, type HttpVersion } from "../../../gateway/test/support/exchange.ts";
import { findFreePort } from "../../../gateway/test/support/free-port.ts";
import { useOpened } from "../../../gateway/test/support/use-opened.ts";
import { within } from "../../../gateway/test/support/within.ts";
import { useFolder } from "../cli/command.ts";
import { openUpstream } from "../services/open-proxy.ts";
import { type Front, fronts, isInstalled, plainNginx, startFront } from "./fronts.ts";

/** What the upstream waits for: a message of the stream that the other side has seen. */
let seen: PromiseWithResolvers<void>[] = [];
let cancelled = Promise.withResolvers<void>();
let called = Promise.withResolvers<void>();

const watched = [1, 2, 3];

function renew(): void {
  seen = watched.map(() => Promise.withResolvers<void>());
  cancelled = Promise.withResolvers<void>();
  called = Promise.withResolvers<void>();
}

const errors = new Map([
  [429n, new ConnectError("too many", Code.ResourceExhausted)],
  [503n, new ConnectError("not now", Code.Unavailable)],
]);

const routes = (router: ConnectRouter) =>
  router.service(CatalogService, {
    getVolume({ id }, { requestHeader }) {
      const error = errors.get(id);
      if (error !== undefined) throw error;
      return { id, title: requestHeader.get("x-forwarded-for") ?? "" };
    },
    createVolume: ({ volume }) => ({ id: BigInt(volume?.title.length ?? 0) }),
    async moveVolume(_request, { signal }) {
      called.resolve();
      await once(signal, "abort");
      cancelled.resolve();
      return {};
    },
    async *watchVolumes() {
      for (const [index, id] of watched.entries()) {
        yield { id: BigInt(id) };
        await seen[index]?.promise;
      }
    },
    async importVolumes(requests) {
      let count = 0;
      for await (const _ of requests) seen[count++]?.resolve();
      return { count: BigInt(count) };
    },
  });

const folder = useFolder(file_library_v1_catalog);
const upstream = useOpened(() => openUpstream(routes));
const command = useOpened(async () => {
  const services = ["--upstream", upstream.url, "--descriptors", "services.binpb"];
  const started = await folder.start(...services, "--request-metadata", "x-forwarded-for");
  await started.ready();
  return started;
});
let ca: string;

/** Starts it for the tests of a group. Returns where it is, once it runs. */
function open(front: Front): () => string {
  let origin = "";
  beforeAll(async () => {
    const home = join(folder.path, front.name.replaceAll(" ", "-"));
    await mkdir(home);
    const { keyFile, pem } = createCertificate(home, "server");
    ca = pem;
    const pemFile = join(home, "api.pem");
    await writeFile(pemFile, pem + readFileSync(keyFile, "utf8"));
    const port = await findFreePort();
    const running = await startFront(front, {
      ...{ folder: home, port, pemFile },
      gatewayPort: command.port,
    });
    origin = `https://127.0.0.1:${port}`;
    return () => running[Symbol.asyncDispose]();
  });
  return () => origin;
}

const versions = ["1.1", "2"] as const;
const transports = {
  gRPC: createGrpcTransport,
  "gRPC-Web": createGrpcWebTransport,
  Connect: createConnectTransport,
};

/** gRPC is HTTP/2. */
const served = [
  { name: "gRPC", httpVersion: "2" },
  ...versions.map((httpVersion) => ({ name: "gRPC-Web", httpVersion }) as const),
  ...versions.map((httpVersion) => ({ name: "Connect", httpVersion }) as const),
] as const;

type Way = (typeof served)[number];

function clientOf({ name, httpVersion }: Way, baseUrl: string) {
  const transport = transports[name]({ baseUrl, httpVersion, nodeOptions: { ca } });
  return createClient(CatalogService, transport);
}

/** The body of a REST stream, as it comes. */
async function* readStream(origin: string, version: HttpVersion, accept: string) {
  const path = "/v1/shelves/a/volumes:watch";
  if (version === "1.1") {
    const stream = request(origin + path, { headers: { accept }, ca, agent: false }).end();
    const [response] = await once(stream, "response");
    yield* response;
    return;
  }
  const session = connect(origin, { ca });
  try {
    yield* session.request({ ":path": path, accept });
  } finally {
    session.destroy();
  }
}

function get(origin: string, version: HttpVersion, path: string) {
  return exchange({ origin, version, path, method: "GET", ca });
}

async function expectEventByEvent(origin: string, version: HttpVersion, accept: string) {
  renew();
  let text = "";
  let count = 0;
  const read = async () => {
    for await (const piece of readStream(origin, version, accept)) {
      text += piece;
      while (text.includes(`"id":"${watched[count]}"`)) seen[count++]?.resolve();
    }
  };
  await within("the next event", read());
  expect(count).toBe(watched.length);
}

const id = 2n ** 53n + 1n;
const rest = ["text/event-stream", "application/x-ndjson"].flatMap((accept) =>
  versions.map((version) => [version, accept] as const),
);

describe.skipIf(!hasOpenssl).each(fronts)("behind $name", (front) => {
  describe.skipIf(!isInstalled(front))("as the page shows", () => {
    const origin = open(front);

    test.each(versions)("REST over HTTP/%s, with the caller's address", async (version) => {
      const { status, body } = await get(origin(), version, `/v1/volumes/${id}`);
      expect(JSON.parse(body.toString())).toEqual({ id: `${id}`, title: "127.0.0.1, 127.0.0.1" });
      expect(status).toBe(200);
    });

    test.each(served)("$name over HTTP/$httpVersion, and its streams", async (way) => {
      const client = clientOf(way, origin());
      expect((await client.getVolume({ id })).id).toBe(id);
      renew();
      const ids: bigint[] = [];
      const read = async () => {
        for await (const volume of client.watchVolumes({ parent: "shelves/a" })) {
          ids.push(volume.id);
          seen[ids.length - 1]?.resolve();
        }
      };
      await within("the next message", read());
      expect(ids.map(Number)).toEqual(watched);
    });

    test("messages of a client's stream, one by one", async () => {
      renew();
      async function* send() {
        for (const { promise } of seen) {
          yield { parent: "shelves/a" };
          await promise;
        }
      }
      const client = clientOf({ name: "gRPC", httpVersion: "2" }, origin());
      const { count } = await within("the answer", client.importVolumes(send()));
      expect(Number(count)).toBe(watched.length);
    });

    test.each(rest)("a REST stream over HTTP/%s as %s, event by event", (version, accept) =>
      expectEventByEvent(origin(), version, accept),
    );

    test.each(["1.1", "2", "gRPC"] as const)("cancellation over %s", async (how) => {
      renew();
      const path = "/v1/shelves/a/volumes/1:move";
      const headers = { "content-type": "application/json" };
      let cancel: () => void;
      if (how === "1.1") {
        const sent = request(origin() + path, { method: "POST", headers, ca, agent: false });
        sent.on("error", () => {}).end("{}");
        cancel = () => sent.destroy();
      } else if (how === "2") {
        const session = connect(origin(), { ca });
        const stream = session.request({ ":method": "POST", ":path": path, ...headers });
        stream.on("error", () => {}).end("{}");
        cancel = () => {
          stream.close(constants.NGHTTP2_CANCEL);
          session.close();
        };
      } else {
        const abort = new AbortController();
        const client = clientOf({ name: "gRPC", httpVersion: "2" }, origin());
        client.moveVolume({ name: "a" }, { signal: abort.signal }).catch(() => {});
        cancel = () => abort.abort();
      }
      await within("the call", called.promise);
      cancel();
      await within("the cancellation", cancelled.promise);
    });

    test.each([429, 503])("status %s with its headers and message", async (status) => {
      for (const version of versions) {
        const answer = await get(origin(), version, `/v1/volumes/${status}`);
        expect(answer.status).toBe(status);
        expect(answer.headers.get("content-type")).toBe("application/json");
        expect(JSON.parse(answer.body.toString())).toMatchObject({
          message: errors.get(BigInt(status))?.rawMessage,
        });
      }
      for (const way of served) {
        const call = clientOf(way, origin()).getVolume({ id: BigInt(status) });
        await expect(call).rejects.toMatchObject({
          code: errors.get(BigInt(status))?.code,
          rawMessage: errors.get(BigInt(status))?.rawMessage,
        });
      }
    });

    test.each([
      [3, 200, versions],
      // Over HTTP/1.1, Caddy closes early, and a client that still sends may see a reset alone.
      [5, 413, ["2"] as const],
    ] as const)("a body of %s MiB: %s, of the command", async (size, status, over) => {
      const title = "a".repeat(size * 1024 * 1024);
      for (const version of over) {
        const answer = await exchange({
          ...{ origin: origin(), version, path: "/v1/shelves/a/volumes", ca },
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ title }),
        });
        expect(answer.status).toBe(status);
        const expected = status === 200 ? { id: `${title.length}` } : { code: 8 };
        expect(JSON.parse(answer.body.toString())).toMatchObject(expected);
      }
    });
  });
});

describe.skipIf(!hasOpenssl || !isInstalled(plainNginx))("behind nginx with its defaults", () => {
  const origin = open(plainNginx);

  test.each(versions)("server-sent events over HTTP/%s, event by event", (version) =>
    expectEventByEvent(origin(), version, "text/event-stream"),
  );

  test.each(served.filter(({ name }) => name !== "gRPC"))(
    "$name over HTTP/$httpVersion",
    async (way) => {
      expect((await clientOf(way, origin()).getVolume({ id })).id).toBe(id);
    },
  );
});
