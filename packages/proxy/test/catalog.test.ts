/** A complete resource-oriented service, as seen by a REST client. */
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import {
  big,
  emma,
  get,
  json,
  send,
  versions,
  walden,
} from "../../gateway/test/support/catalog.ts";
import { jsonOf, type SentRequest } from "../../gateway/test/support/gateway.ts";
import { useCatalog, ways } from "./catalog-ways.ts";

/** That there is none of that path. */
const missing = (path: string) => ({
  ...{ code: Code.NotFound, message: `there is no shelves/${path}`, details: [] },
});

/** A rejection that names the field. */
const refused = (field: string) => ({
  code: Code.InvalidArgument,
  details: [
    {
      "@type": "type.googleapis.com/google.rpc.BadRequest",
      fieldViolations: [expect.objectContaining(field === "" ? {} : { field })],
    },
  ],
});

const inShelf = (path: string) => get(`/v1/shelves/${path}`);
const remove = (path: string, more: Partial<SentRequest> = {}) => ({
  ...{ method: "DELETE", path: `/v1/shelves/${path}`, ...more },
});
const create = (body: unknown, query = "") => send("POST", `/v1/shelves/c/volumes${query}`, body);
const change = (body: unknown, query = "") =>
  send("PATCH", `/v1/shelves/a/volumes/1${query}`, body);
const move = (body: unknown, query = "") =>
  send("POST", `/v1/shelves/a/volumes/1:move${query}`, body);

const created = (id: string) => ({ name: `shelves/c/volumes/${id}`, id });
const title = "Cape Cod";
const changed = { ...walden, title };
const to = "shelves/b";
const named = { name: walden.name };
const moved = { ...walden, name: "shelves/b/volumes/1" };
const both = { volumes: [walden, emma] };
const dune = { id: "5", title: "Dune" };
const withBody = { headers: { ...json, "content-length": "2" }, body: "{}" };
const unnumbered = { name: "shelves/c/volumes/0" };

/** Of the bodies of requests. */
const codings: readonly (readonly [name: string, encode: (bytes: Buffer) => Buffer])[] = [
  ["identity", (bytes) => bytes],
  ["gzip", (bytes) => gzipSync(bytes)],
];

describe.each(versions.flatMap((version) => ways.map((how) => ({ version, how }))))(
  "over HTTP/$version, $how,",
  ({ version, how }) => {
    const gateway = useCatalog(how);
    const sent = (request: SentRequest) => gateway.current.send({ version, ...request });
    const told = async (request: SentRequest) => jsonOf(await sent(request));

    type Row = readonly [what: string, request: SentRequest, status: number, answer: unknown];

    const rows: readonly Row[] = [
      ["a volume is read by its name", inShelf("a/volumes/1"), 200, walden],
      ["by its number, exactly", get(`/v1/volumes/${big}`), 200, emma],
      ["a variable leaves the rest to the query", inShelf("a/volumes/1?id=7"), 200, walden],
      ["but not contradict it", get("/v1/volumes/3?id=4"), 400, refused("id")],
      ["a number past int64", get("/v1/volumes/9223372036854775808"), 400, refused("id")],
      ["the largest int64", get("/v1/volumes/9223372036854775807"), 404, { code: Code.NotFound }],
      ["the smallest int64", get("/v1/volumes/-9223372036854775808"), 404, { code: Code.NotFound }],
      ["a volume that is not there", inShelf("a/volumes/9"), 404, missing("a/volumes/9")],
      ["no verb, but a name", inShelf("a/volumes/1:lend"), 404, missing("a/volumes/1:lend")],

      ["a shelf is listed", inShelf("a/volumes"), 200, both],
      ["an empty list is left out", inShelf("z/volumes"), 200, {}],
      ["by JSON name", inShelf("a/volumes?pageSize=1"), 200, { volumes: [walden] }],
      ["and twice", inShelf("a/volumes?titles=Emma&titles=Walden"), 200, both],
      ["a parameter no field has", inShelf("a/volumes?size=1"), 400, refused("size")],
      ["a shelf that contradicts", inShelf("a/volumes?parent=b"), 400, refused("parent")],

      ["a volume is created", create(dune), 200, { ...dune, ...created("5") }],
      ["from a number as well, exactly", create(`{"id":${big}}`), 200, created(big)],
      ["what is beside the body", create({}, "?validateOnly=true"), 200, unnumbered],
      ["a body cut short", create("{"), 400, refused("")],
      ["a body that is not there", create(""), 200, unnumbered],
      ["a member that no field has", create({ isbn: 1 }), 400, { code: Code.InvalidArgument }],

      ["a mask says what is changed", change({ title }, "?updateMask=title"), 200, changed],
      ["without a mask, the body does", change({ title }), 200, changed],
      ["a body may repeat the name of the path", change(walden, "?updateMask=title"), 200, walden],
      ["but not name another", change(emma, "?updateMask=title"), 400, refused("volume.name")],

      ["a volume is deleted", remove("a/volumes/1"), 200, {}],
      ["not if it is not there", remove("a/volumes/2"), 404, missing("a/volumes/2")],
      ["not with a body", remove("a/volumes/1", withBody), 400, refused("")],

      ["a verb is a method of its own", move({ to }), 200, moved],
      ["its body, the whole message, may repeat the name", move({ to, ...named }), 200, moved],
      ["but not name another", move({ to, name: emma.name }), 400, refused("name")],

      ["** takes one segment", get("/v1/files/a"), 200, { path: "a" }],
      ["and many", get("/v1/files/a/b/c.txt"), 200, { path: "a/b/c.txt" }],
      ["it keeps an encoded slash", get("/v1/files/a%2Fb/c"), 200, { path: "a%2Fb/c" }],
      ["and decodes the rest", get("/v1/files/a%20b/%C3%A9"), 200, { path: "a b/é" }],
      ["a percent sign alone is refused", get("/v1/files/a%"), 400, refused("path")],
    ];

    test.each(rows)("%s", async (_what, request, status, answer) => {
      const response = await sent(request);
      expect(jsonOf(response)).toMatchObject(answer as object);
      if (status === 200) expect(jsonOf(response)).toEqual(answer);
      expect(response.status).toBe(status);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("content-length")).toBe(String(response.body.length));
    });

    test.each([
      ["application/x-ndjson", `${JSON.stringify(walden)}\n${JSON.stringify(emma)}\n`],
      [
        "text/event-stream",
        `data: ${JSON.stringify(walden)}\n\ndata: ${JSON.stringify(emma)}\n\nevent: end\ndata: null`,
      ],
      ["application/json", `[${JSON.stringify(walden)},${JSON.stringify(emma)}]`],
    ])("a stream of volumes is %s for who accepts that", async (accept, body) => {
      const watch = get("/v1/shelves/a/volumes:watch");
      const response = await sent({ ...watch, headers: { accept } });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(accept);
      expect(response.body.toString().trim().replaceAll(",\n", ",")).toBe(body.trim());
    });

    test.each(codings)("volumes come as a stream, in %s", async (coding, encode) => {
      const lines = [dune, { id: big }].map((one) => JSON.stringify(one));
      const headers = { "content-type": "application/x-ndjson", "content-encoding": coding };
      const body = encode(Buffer.from(lines.join("\n")));
      const path = "/v1/shelves/c/volumes:import";
      expect(await told({ method: "POST", path, headers, body })).toEqual({ count: "2" });
      const volumes = [{ ...dune, ...created("5") }, created(big)];
      expect(await told(inShelf("c/volumes"))).toEqual({ volumes });
    });

    test.each(
      [
        ["whole", "PUT", "upload", "download"] as const,
        ["in pieces", "POST", "append", "stream"] as const,
      ].flatMap((row) => codings.map((coding) => [...row, ...coding] as const)),
    )("a text goes in and out as it is, %s, by %s %s to %s, in %s", async (...row) => {
      const [_how, method, put, fetch, coding, encode] = row;
      const body = Buffer.from(Array.from({ length: 5000 }, (_, at) => at % 256));
      const path = "/v1/shelves/a/volumes/1";
      const headers = { "content-type": "image/png", "content-encoding": coding };
      const kept = await told({ method, path: `${path}:${put}`, body: encode(body), headers });
      expect(kept).toEqual(walden);
      const response = await sent(get(`${path}:${fetch}`));
      expect(response.headers.get("content-type")).toBe("image/png");
      expect(response.body.equals(body)).toBe(true);
    });

    test.each([
      ["PUT", "/v1/shelves/a/volumes", "GET, HEAD, POST"],
      ["POST", "/v1/shelves/a/volumes/1", "DELETE, GET, HEAD, PATCH"],
      ["HEAD", "/v1/shelves/a/volumes:import", "POST"],
    ])("%s %s is not allowed, but %s", async (method, path, allow) => {
      const { status, headers } = await sent({ method, path });
      expect([status, headers.get("allow")]).toEqual([405, allow]);
    });
  },
);
