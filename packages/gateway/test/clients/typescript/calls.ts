/** Calls every operation of the catalog: `node calls.ts ORIGIN`. Writes the name of each that answered well. */
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./catalog.d.ts";

type Volume = components["schemas"]["Volume"];

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });
const big = "9007199254740993";
const path = { shelf: "a", volume: big };
const emma: Volume = { name: `shelves/a/volumes/${big}`, id: big, title: "Emma" };
const text = new Uint8Array([0, 255, 10, 13]);

await call("CreateVolume", async () => {
  const { data } = await client.POST("/v1/shelves/{shelf}/volumes", {
    params: { path: { shelf: "a" } },
    body: { id: big, title: "Emma" },
  });
  assert.deepEqual(data, emma);
  // A body that may be absent is the empty message.
  const empty = await client.POST("/v1/shelves/{shelf}/volumes", {
    params: { path: { shelf: "z" } },
  });
  assert.deepEqual(empty.data, { name: "shelves/z/volumes/0" });
});
await call("GetVolume", async () => {
  const place = "/v1/shelves/{shelf}/volumes/{volume}";
  assert.deepEqual((await client.GET(place, { params: { path } })).data, emma);
  const { error, response } = await client.GET(place, {
    params: { path: { shelf: "a", volume: "none" } },
  });
  assert.equal(response.status, 404);
  assert.deepEqual(error, { code: 5, message: "there is no shelves/a/volumes/none", details: [] });
});
await call("GetVolume2", async () => {
  const { data } = await client.GET("/v1/volumes/{id}", { params: { path: { id: big } } });
  assert.deepEqual(data, emma);
});
await call("ListVolumes", async () => {
  const query = { pageSize: 5, titles: ["Emma", "Walden"] };
  const { data } = await client.GET("/v1/shelves/{shelf}/volumes", {
    params: { path: { shelf: "a" }, query },
  });
  assert.deepEqual(data, { volumes: [emma] });
  const { error } = await client.GET("/v1/shelves/{shelf}/volumes", {
    params: { path: { shelf: "a" }, query: { pageSize: 2 ** 31 } },
  });
  const [detail] = error?.details ?? [];
  assert.equal(detail?.["@type"], "type.googleapis.com/google.rpc.BadRequest");
});
await call("UpdateVolume", async () => {
  const place = "/v1/shelves/{shelf}/volumes/{volume}";
  for (const [title, headers] of [
    ["Emma, 1", { "content-type": "application/json" }],
    [null, { "content-type": "application/merge-patch+json" }],
  ] as const) {
    const { data } = await client.PATCH(place, { params: { path }, body: { title }, headers });
    assert.equal(data?.title, title ?? undefined);
  }
  const query = { updateMask: "title" };
  const { data } = await client.PATCH(place, {
    params: { path, query },
    body: { id: big, title: "Emma" },
  });
  assert.deepEqual(data, emma);
});
await call("UploadVolume", async () => {
  const { data } = await client.PUT("/v1/shelves/{shelf}/volumes/{volume}:upload", {
    params: { path },
    headers: { "content-type": "text/x-novel" },
    ...bytes(text),
  });
  assert.deepEqual(data, emma);
});
await call("DownloadVolume", async () => {
  const { data, response } = await client.GET("/v1/shelves/{shelf}/volumes/{volume}:download", {
    params: { path },
    parseAs: "arrayBuffer",
  });
  assert.equal(response.headers.get("content-type"), "text/x-novel");
  assert.deepEqual(new Uint8Array(data ?? new ArrayBuffer()), text);
});
await call("AppendVolume", async () => {
  const { data } = await client.POST("/v1/shelves/{shelf}/volumes/{volume}:append", {
    params: { path },
    headers: { "content-type": "text/x-novel" },
    ...bytes(text),
  });
  assert.deepEqual(data, emma);
});
await call("StreamVolume", async () => {
  const { data } = await client.GET("/v1/shelves/{shelf}/volumes/{volume}:stream", {
    params: { path },
    parseAs: "arrayBuffer",
  });
  assert.deepEqual(new Uint8Array(data ?? new ArrayBuffer()), text);
});
await call("ImportVolumes", async () => {
  const place = "/v1/shelves/{shelf}/volumes:import";
  const params = { path: { shelf: "b" } };
  const headers = { "content-type": "application/json" };
  const body = [
    { id: 1, title: "Walden" },
    { id: big, title: "Dune" },
  ];
  assert.deepEqual((await client.POST(place, { params, headers, body })).data, { count: "2" });
  // NDJSON is text to it.
  const lines = await client.POST(place, {
    params,
    headers: { "content-type": "application/x-ndjson" },
    body: `${JSON.stringify({ id: 3, title: "Ulysses" })}\n`,
    bodySerializer: String,
  });
  assert.deepEqual(lines.data, { count: "1" });
});
await call("WatchVolumes", async () => {
  const place = "/v1/shelves/{shelf}/volumes:watch";
  const params = { path: { shelf: "b" } };
  const ids = ["1", big, "3"];
  const array = await client.GET(place, { params, headers: { accept: "application/json" } });
  const items = (Array.isArray(array.data) ? array.data : []) as Volume[];
  assert.deepEqual(
    items.map(({ id }) => id),
    ids,
  );
  // NDJSON comes as it is: openapi-fetch leaves the lines to its user.
  const lines = await client.GET(place, { params, parseAs: "text" });
  const volumes = String(lines.data).trimEnd().split("\n");
  assert.deepEqual(
    volumes.map((line): Volume => JSON.parse(line)).map(({ id }) => id),
    ids,
  );
});
await call("MoveVolume", async () => {
  const { data } = await client.POST("/v1/shelves/{shelf}/volumes/{volume}:move", {
    params: { path },
    body: { to: "shelves/c" },
  });
  assert.deepEqual(data, { ...emma, name: `shelves/c/volumes/${big}` });
});
await call("DeleteVolume", async () => {
  const { data, error } = await client.DELETE("/v1/shelves/{shelf}/volumes/{volume}", {
    params: { path: { shelf: "c", volume: big } },
  });
  assert.deepEqual([data, error], [{}, undefined]);
});
await call("ReadFile", async () => {
  const { data } = await client.GET("/v1/files/{path}", { params: { path: { path: "a b.txt" } } });
  assert.deepEqual(data, { path: "a b.txt" });
});

await call("ReadFile_2", async () => {
  const params = { path: { path: "a", path_2: "b.txt" } };
  const { data } = await client.GET("/v1/files/{path}/{path_2}", { params });
  assert.deepEqual(data, { path: "a/b.txt" });
});
await call("ReadFile_3", async () => {
  const params = { path: { path: "a", path_2: "b", path_3: "c" } };
  const { data } = await client.GET("/v1/files/{path}/{path_2}/{path_3}", { params });
  assert.deepEqual(data, { path: "a/b/c" });
});
await call("ReadFile_4", async () => {
  const params = { path: { path: "a", path_2: "b", path_3: "c", path_4: "d" } };
  const { data } = await client.GET("/v1/files/{path}/{path_2}/{path_3}/{path_4}", { params });
  assert.deepEqual(data, { path: "a/b/c/d" });
});
const book = { path: { shelf: "a", book: "1" } };
await call("GetBook", async () => {
  const { data } = await client.GET("/v1/shelves/{shelf}/books/{book}", { params: book });
  assert.equal(data?.title, "Emma");
});
await call("UpdateBook", async () => {
  const place = "/v1/shelves/{shelf}/books/{book}";
  const before = (await client.GET(place, { params: book })).data;
  const { data } = await client.PATCH(place, { params: book, body: { title: "Persuasion" } });
  assert.deepEqual(data, { ...before, title: "Persuasion" }); // and nothing else
});
await call("UpdateBook2", async () => {
  const body = { book: { title: "Emma" }, updateMask: "title" };
  assert.equal((await client.PATCH("/v1/books", { body })).data?.title, "Emma");
});

async function call(name: string, run: () => Promise<void>): Promise<void> {
  try {
    await run();
    process.stdout.write(`passed ${name}\n`);
  } catch (error) {
    process.stdout.write(`failed ${name}: ${String(error).replaceAll("\n", " ")}\n`);
  }
}

/** The type of binary is text to openapi-typescript. */
function bytes(body: Uint8Array) {
  return { body: body as unknown as string, bodySerializer: () => body };
}
