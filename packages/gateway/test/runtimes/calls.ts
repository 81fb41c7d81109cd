/** The calls that every runtime must answer. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { CatalogService } from "../gen/library/v1/catalog_pb.ts";
import { exchange } from "../support/exchange.ts";
import { jsonOf } from "../support/gateway.ts";
import type { ServerProcess } from "./server-process.ts";

/** Where a call goes. */
export interface Place {
  /** With the prefix of the services' paths, if there is one. */
  readonly origin: string;
  /** The certificate to trust, for https. */
  readonly ca?: string;
}

export type Target = Place & { readonly server: ServerProcess };

export interface Call<T = Place> {
  readonly name: string;
  run(target: T): Promise<void>;
}

/** Above 2^53, so that a double cannot hold it. */
const big = 9007199254740993n;
const parent = "shelves/caf\u00e9"; // encoded in a path
const name = `${parent}/volumes/${big}`;
const title = randomBytes(100_000).toString("hex"); // in a stream, more than there is room for

const json = { "content-type": "application/json" };
const ndjson = { "content-type": "application/x-ndjson" };

function send({ origin, ca }: Place, method: string, route: string, body = "", headers = json) {
  const trusted = ca === undefined ? {} : { ca };
  const path = new URL(origin).pathname.replace(/\/$/, "") + encodeURI(route);
  return exchange({ origin, version: "1.1", method, path, headers, body, ...trusted });
}

export const restCalls: readonly Call[] = [
  {
    name: "REST: an int64",
    async run(target) {
      const volume = { name, id: `${big}`, title: "Emma" };
      const body = `{"id": ${big}, "title": "Emma"}`;
      const created = await send(target, "POST", `/v1/${parent}/volumes`, body);
      deepEqual([created.status, jsonOf(created)], [200, volume]);
      deepEqual(jsonOf(await send(target, "GET", `/v1/volumes/${big}`)), volume);
    },
  },
  {
    name: "REST: an error",
    async run(target) {
      const response = await send(target, "GET", "/v1/volumes/1");
      const error = { code: Code.NotFound, message: "there is no volume 1", details: [] };
      deepEqual([response.status, jsonOf(response)], [404, error]);
      equal((await send(target, "GET", "/v1/volumes/1?unknown=1")).status, 400);
    },
  },
  {
    name: "REST: a server stream",
    async run(target) {
      const response = await send(target, "GET", `/v1/${parent}/volumes:watch`);
      const line = `${JSON.stringify({ name, id: `${big}`, title: "Emma" })}\n`;
      deepEqual([response.status, response.body.toString()], [200, line]);
    },
  },
  {
    name: "REST: a client stream",
    async run(target) {
      const body = '{"id":1}\n{"id":2}\n';
      const response = await send(target, "POST", `/v1/${parent}/volumes:import`, body, ndjson);
      deepEqual([response.status, jsonOf(response)], [200, { count: "2" }]);
    },
  },
];

const openConnect = ({ origin }: Place) =>
  createConnectTransport({ baseUrl: origin, httpVersion: "1.1" });

export const connectCalls = rpcCalls("Connect", openConnect);
export const grpcWebCalls = rpcCalls("gRPC-Web", ({ origin }) =>
  createGrpcWebTransport({ baseUrl: origin, httpVersion: "1.1" }),
);
export const grpcCalls = rpcCalls("gRPC", ({ origin, ca }) =>
  createGrpcTransport({ baseUrl: origin, ...(ca !== undefined && { nodeOptions: { ca } }) }),
);

function rpcCalls(protocol: string, open: (place: Place) => Transport): readonly Call[] {
  const rows: readonly [name: string, run: (client: RpcClient) => Promise<void>][] = [
    [
      "an int64",
      async (client) => {
        await client.createVolume({ parent, volume: { id: big, title } });
        equal((await client.getVolume({ id: big })).id, big);
      },
    ],
    [
      "an error",
      async (client) => {
        const error = await client.getVolume({ id: 1n }).then(String, ConnectError.from);
        equal(String(error), "ConnectError: [not_found] there is no volume 1");
      },
    ],
    [
      "a server stream",
      async (client) => {
        const ids: bigint[] = [];
        for await (const { id } of client.watchVolumes({ parent })) ids.push(id);
        equal(ids.at(-1), big);
      },
    ],
    [
      "a client stream",
      async (client) => {
        equal((await client.importVolumes(two())).count, 2n);
      },
    ],
  ];
  return rows.map(([what, run]) => ({
    name: `${protocol}: ${what}`,
    run: (place) => run(createClient(CatalogService, open(place))),
  }));
}

type RpcClient = Client<typeof CatalogService>;

async function* two() {
  yield { parent };
  yield { parent };
}

function leaving(protocol: string, open: (place: Place) => Transport): Call<Target> {
  return {
    name: `${protocol}: a client that leaves`,
    async run(target) {
      const client = createClient(CatalogService, open(target));
      const left = new AbortController();
      const pieces = client.streamVolume({ name }, { signal: left.signal });
      await rejects(async () => {
        for await (const _piece of pieces) left.abort();
      });
      equal(await target.server.nextLine(), "a client has left");
    },
  };
}

export const leavingConnect = leaving("Connect", openConnect);
export const leavingGrpc = leaving("gRPC", ({ origin }) =>
  createGrpcTransport({ baseUrl: origin }),
);

export const brokenOff: Call = {
  name: "REST over HTTP/2: a body that is broken off is not whole",
  async run({ origin }) {
    const path = `/v1/${parent}/volumes/1:stream`;
    await rejects(exchange({ origin, version: "2", method: "GET", path: encodeURI(path) }));
  },
};

/** The last call to a server: it tells the server to end. */
export const drain: Call<Target> = {
  name: "a drain lets a stream come to its end",
  async run({ server, origin }) {
    const client = createClient(CatalogService, createGrpcTransport({ baseUrl: origin }));
    let text = "";
    for await (const { data } of client.streamVolume({ name })) {
      if (text === "") server.terminate();
      text += new TextDecoder().decode(data);
    }
    equal(text, "begun ended");
    equal(await server.ended, 0);
  },
};
