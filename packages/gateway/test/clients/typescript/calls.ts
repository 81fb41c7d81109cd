/** Calls every operation: `node calls.ts ORIGIN`. Its types are checked, and more of its answers. */
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./catalog.d.ts";
import { callAll } from "./operations.ts";

type Volume = components["schemas"]["Volume"];

const client = createClient<paths>({ baseUrl: process.argv[2] ?? "" });
const path = { shelf: "a", volume: "9007199254740993" };
const book = { path: { shelf: "a", book: "1" } };
const ofVolume = "/v1/shelves/{shelf}/volumes/{volume}";
const ofVolumes = "/v1/shelves/{shelf}/volumes";
const ofBook = "/v1/shelves/{shelf}/books/{book}";
const type = { "content-type": "text/x-novel" };

async function outcomeOf(call: Promise<{ data?: unknown; error?: unknown }>): Promise<unknown> {
  const { data, error } = await call;
  return data ?? error;
}

/** The type of binary is text to openapi-typescript. */
function bytes(body: Uint8Array) {
  return { body: body as unknown as string, bodySerializer: () => body };
}

const bytesOf = (data: ArrayBuffer | undefined) => new Uint8Array(data ?? new ArrayBuffer());

await callAll({
  createVolume: (shelf, body) =>
    outcomeOf(client.POST(ofVolumes, { params: { path: { shelf } }, ...(body && { body }) })),
  async getVolume(volume) {
    const params = { path: { shelf: "a", volume } };
    const { data, error, response } = await client.GET(ofVolume, { params });
    assert.equal(response.status, error === undefined ? 200 : 404);
    return data ?? error;
  },
  getVolumeById: (id) => outcomeOf(client.GET("/v1/volumes/{id}", { params: { path: { id } } })),
  async listVolumes(query) {
    const wrong = { path: { shelf: "a" }, query: { pageSize: 2 ** 31 } };
    const { error } = await client.GET(ofVolumes, { params: wrong });
    const [detail] = error?.details ?? [];
    assert.equal(detail?.["@type"], "type.googleapis.com/google.rpc.BadRequest");
    return await outcomeOf(client.GET(ofVolumes, { params: { path: { shelf: "a" }, query } }));
  },
  async updateVolume(body, updateMask) {
    if (updateMask !== undefined) {
      const headers = { "content-type": "application/merge-patch+json" };
      const cleared = { params: { path }, body: { title: null }, headers };
      assert.equal((await client.PATCH(ofVolume, cleared)).data?.title, undefined);
    }
    const params = { path, ...(updateMask !== undefined && { query: { updateMask } }) };
    return await outcomeOf(client.PATCH(ofVolume, { params, body }));
  },
  uploadVolume: (content) =>
    outcomeOf(
      client.PUT(`${ofVolume}:upload`, { params: { path }, headers: type, ...bytes(content) }),
    ),
  async downloadVolume() {
    const options = { params: { path }, parseAs: "arrayBuffer" } as const;
    const { data, response } = await client.GET(`${ofVolume}:download`, options);
    assert.equal(response.headers.get("content-type"), type["content-type"]);
    return bytesOf(data);
  },
  appendVolume: (content) =>
    outcomeOf(
      client.POST(`${ofVolume}:append`, { params: { path }, headers: type, ...bytes(content) }),
    ),
  async streamVolume() {
    const options = { params: { path }, parseAs: "arrayBuffer" } as const;
    return bytesOf((await client.GET(`${ofVolume}:stream`, options)).data);
  },
  async importVolumes(body) {
    const params = { path: { shelf: "d" } };
    // NDJSON is text to it.
    const lines = await client.POST(`${ofVolumes}:import`, {
      params,
      headers: { "content-type": "application/x-ndjson" },
      body: `${JSON.stringify({ id: 3, title: "Ulysses" })}\n`,
      bodySerializer: String,
    });
    assert.deepEqual(lines.data, { count: "1" });
    const headers = { "content-type": "application/json" };
    const here = { path: { shelf: "b" } };
    return await outcomeOf(client.POST(`${ofVolumes}:import`, { params: here, headers, body }));
  },
  async watchVolumes() {
    const params = { path: { shelf: "b" } };
    const headers = { accept: "application/json" };
    const { data } = await client.GET(`${ofVolumes}:watch`, { params, headers });
    // NDJSON comes as it is: openapi-fetch leaves the lines to its user.
    const lines = await client.GET(`${ofVolumes}:watch`, { params, parseAs: "text" });
    const volumes = String(lines.data).trimEnd().split("\n");
    assert.deepEqual(
      volumes.map((line): Volume => JSON.parse(line)),
      data,
    );
    return data;
  },
  moveVolume: (to) =>
    outcomeOf(client.POST(`${ofVolume}:move`, { params: { path }, body: { to } })),
  deleteVolume: (shelf) =>
    outcomeOf(client.DELETE(ofVolume, { params: { path: { ...path, shelf } } })),
  readFile: [
    (path = "") => outcomeOf(client.GET("/v1/files/{path}", { params: { path: { path } } })),
    (path = "", path_2 = "") =>
      outcomeOf(client.GET("/v1/files/{path}/{path_2}", { params: { path: { path, path_2 } } })),
    (path = "", path_2 = "", path_3 = "") => {
      const params = { path: { path, path_2, path_3 } };
      return outcomeOf(client.GET("/v1/files/{path}/{path_2}/{path_3}", { params }));
    },
    (path = "", path_2 = "", path_3 = "", path_4 = "") => {
      const params = { path: { path, path_2, path_3, path_4 } };
      return outcomeOf(client.GET("/v1/files/{path}/{path_2}/{path_3}/{path_4}", { params }));
    },
  ],
  getBook: () => outcomeOf(client.GET(ofBook, { params: book })),
  updateBook: (body) => outcomeOf(client.PATCH(ofBook, { params: book, body })),
  updateMaskedBook: (body) => outcomeOf(client.PATCH("/v1/books", { body })),
});
