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
  ulysses,
  versions,
  walden,
} from "../../gateway/test/support/catalog.ts";
import { jsonOf, type SentRequest } from "../../gateway/test/support/gateway.ts";
import { useCatalog, ways } from "./catalog-ways.ts";

const notFound = (message: string) => ({ code: Code.NotFound, message, details: [] });

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
const create = (body: unknown, query = "") => send("POST", `/v1/shelves/c/volumes${query}`, body);
const change = (body: unknown, query = "") =>
  send("PATCH", `/v1/shelves/a/volumes/1${query}`, body);
const move = (body: unknown, query = "") =>
  send("POST", `/v1/shelves/a/volumes/1:move${query}`, body);

/** Of the bodies of requests. */
const codings: readonly (readonly [name: string, encode: (bytes: Buffer) => Buffer])[] = [
  ["identity", (bytes) => bytes],
  ["gzip", (bytes) => gzipSync(bytes)],
];

describe.each(versions.flatMap((version) => ways.map((how) => ({ version, how }))))(
  "over HTTP/$version, $how,",
  ({ version, how }) => {
    const gateway = useCatalog(how);

    type Row = readonly [what: string, request: SentRequest, status: number, answer: unknown];

    const rows: readonly Row[] = [
      ["a volume is read by its name", inShelf("a/volumes/1"), 200, walden],
      ["by its number, exactly", get(`/v1/volumes/${big}`), 200, emma],
      ["a variable leaves the rest to the query", inShelf("a/volumes/1?id=7"), 200, walden],
      ["but not contradict it", get("/v1/volumes/3?id=4"), 400, refused("id")],
      ["a number past int64", get("/v1/volumes/9223372036854775808"), 400, refused("id")],
      ["the largest int64", get("/v1/volumes/9223372036854775807"), 404, { code: Code.NotFound }],
      ["the smallest int64", get("/v1/volumes/-9223372036854775808"), 404, { code: Code.NotFound }],
      [
        "a volume that is not there",
        inShelf("a/volumes/9"),
        404,
        notFound("there is no shelves/a/volumes/9"),
      ],
      [
        "a verb that no method has is part of the name",
        inShelf("a/volumes/1:lend"),
        404,
        notFound("there is no shelves/a/volumes/1:lend"),
      ],

      ["a shelf is listed", inShelf("a/volumes"), 200, { volumes: [walden, emma] }],
      ["an empty list is left out", inShelf("z/volumes"), 200, {}],
      ["by JSON name", inShelf("a/volumes?pageSize=1"), 200, { volumes: [walden] }],
      [
        "and twice",
        inShelf("a/volumes?titles=Emma&titles=Walden"),
        200,
        { volumes: [walden, emma] },
      ],
      ["a parameter no field has", inShelf("a/volumes?size=1"), 400, refused("size")],
      ["a shelf that contradicts", inShelf("a/volumes?parent=b"), 400, refused("parent")],

      [
        "a volume is created",
        create({ id: "5", title: "Dune" }),
        200,
        { name: "shelves/c/volumes/5", id: "5", title: "Dune" },
      ],
      [
        "from a number as well, exactly",
        create(`{"id":${big}}`),
        200,
        { name: `shelves/c/volumes/${big}`, id: big },
      ],
      [
        "what is beside the body comes by the query",
        create({}, "?validateOnly=true"),
        200,
        { name: "shelves/c/volumes/0" },
      ],
      ["a body cut short", create("{"), 400, refused("")],
      ["a body that is not there", create(""), 200, { name: "shelves/c/volumes/0" }],
      ["a member that no field has", create({ isbn: 1 }), 400, { code: Code.InvalidArgument }],

      [
        "a volume is changed as the mask says",
        change({ title: "Cape Cod" }, "?updateMask=title"),
        200,
        { ...walden, title: "Cape Cod" },
      ],
      [
        "without a mask, as the body says",
        change({ title: "Cape Cod" }),
        200,
        { ...walden, title: "Cape Cod" },
      ],
      ["a body may repeat the name of the path", change(walden, "?updateMask=title"), 200, walden],
      ["but not name another", change(emma, "?updateMask=title"), 400, refused("volume.name")],

      ["a volume is deleted", { method: "DELETE", path: "/v1/shelves/a/volumes/1" }, 200, {}],
      [
        "not if it is not there",
        { method: "DELETE", path: "/v1/shelves/a/volumes/2" },
        404,
        notFound("there is no shelves/a/volumes/2"),
      ],
      [
        "not with a body",
        {
          method: "DELETE",
          path: "/v1/shelves/a/volumes/1",
          headers: { ...json, "content-length": "2" },
          body: "{}",
        },
        400,
        refused(""),
      ],

      [
        "a verb is a method of its own",
        move({ to: "shelves/b" }),
        200,
        { ...walden, name: "shelves/b/volumes/1" },
      ],
      [
        "its body is the whole message, which may repeat the name",
        move({ to: "shelves/b", name: walden.name }),
        200,
        { ...walden, name: "shelves/b/volumes/1" },
      ],
      ["but not name another", move({ to: "shelves/b", name: emma.name }), 400, refused("name")],

      ["** takes one segment", get("/v1/files/a"), 200, { path: "a" }],
      ["and many", get("/v1/files/a/b/c.txt"), 200, { path: "a/b/c.txt" }],
      ["it keeps an encoded slash", get("/v1/files/a%2Fb/c"), 200, { path: "a%2Fb/c" }],
      ["and decodes the rest", get("/v1/files/a%20b/%C3%A9"), 200, { path: "a b/é" }],
      ["a percent sign alone is refused", get("/v1/files/a%"), 400, refused("path")],
    ];

    test.each(rows)("%s", async (_what, request, status, answer) => {
      const response = await gateway.current.send({ version, ...request });
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
        `data: ${JSON.stringify(walden)}\n\ndata: ${JSON.stringify(emma)}\n\nevent: end\ndata:`,
      ],
      ["application/json", `[${JSON.stringify(walden)},${JSON.stringify(emma)}]`],
    ])("a stream of volumes is %s for who accepts that", async (accept, body) => {
      const watch = get("/v1/shelves/a/volumes:watch");
      const response = await gateway.current.send({ version, ...watch, headers: { accept } });
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toBe(accept);
      expect(response.body.toString().trim().replaceAll(",\n", ",")).toBe(body.trim());
    });

    test.each(codings)("volumes come as a stream, in %s", async (coding, encode) => {
      const lines = [{ id: "5", title: "Dune" }, { id: big }].map((one) => JSON.stringify(one));
      const response = await gateway.current.send({
        ...{ version, method: "POST", path: "/v1/shelves/c/volumes:import" },
        headers: { "content-type": "application/x-ndjson", "content-encoding": coding },
        body: encode(Buffer.from(lines.join("\n"))),
      });
      expect(jsonOf(response)).toEqual({ count: "2" });
      expect(
        jsonOf(await gateway.current.send({ version, ...get("/v1/shelves/c/volumes") })),
      ).toEqual({
        volumes: [
          { name: "shelves/c/volumes/5", id: "5", title: "Dune" },
          { name: `shelves/c/volumes/${big}`, id: big },
        ],
      });
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
      const kept = await gateway.current.send({
        ...{ version, method, path: `${path}:${put}`, body: encode(body) },
        headers: { "content-type": "image/png", "content-encoding": coding },
      });
      expect(jsonOf(kept)).toEqual(walden);
      const response = await gateway.current.send({ version, ...get(`${path}:${fetch}`) });
      expect(response.headers.get("content-type")).toBe("image/png");
      expect(response.body.equals(body)).toBe(true);
    });

    test.each([
      ["PUT", "/v1/shelves/a/volumes", "GET, HEAD, POST"],
      ["POST", "/v1/shelves/a/volumes/1", "DELETE, GET, HEAD, PATCH"],
      ["HEAD", "/v1/shelves/a/volumes:import", "POST"],
    ])("%s %s is not allowed, but %s", async (method, path, allow) => {
      const { status, headers } = await gateway.current.send({ version, method, path });
      expect([status, headers.get("allow")]).toEqual([405, allow]);
    });

    test("changes persist", async () => {
      await gateway.current.send({ version, method: "DELETE", path: "/v1/shelves/a/volumes/1" });
      const move = send("POST", `/v1/${emma.name}:move`, { to: "shelves/b" });
      await gateway.current.send({ version, ...move });
      expect(
        jsonOf(await gateway.current.send({ version, ...get("/v1/shelves/a/volumes") })),
      ).toEqual({});
      expect(
        jsonOf(await gateway.current.send({ version, ...get("/v1/shelves/b/volumes") })),
      ).toEqual({
        volumes: [ulysses, { ...emma, name: `shelves/b/volumes/${big}` }],
      });
    });
  },
);
