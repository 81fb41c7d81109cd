/** Calls every operation: `node out/calls.js ORIGIN`. Writes the name of each that answered well. */
import assert from "node:assert/strict";
import * as sdk from "./client";
import { client } from "./client/client.gen";

client.setConfig({ baseUrl: process.argv[2] ?? "" });
const id = "9007199254740993";
const path = { shelf: "a", volume: id };
const emma = { name: `shelves/a/volumes/${id}`, id, title: "Emma" };
const text = Uint8Array.of(0, 255, 10, 13);
const content = () => new Blob([text]);
const bytesOf = async (blob: unknown) => new Uint8Array(await (blob as Blob).arrayBuffer());

const calls: Record<string, () => Promise<void>> = {
  async CreateVolume() {
    const one = { path: { shelf: "a" }, body: { id, title: "Emma" } };
    assert.deepEqual((await sdk.catalogServiceCreateVolume(one)).data, emma);
    const empty = await sdk.catalogServiceCreateVolume({ path: { shelf: "z" } });
    assert.deepEqual(empty.data, { name: "shelves/z/volumes/0" });
  },
  async GetVolume() {
    assert.deepEqual((await sdk.catalogServiceGetVolume({ path })).data, emma);
    const none = await sdk.catalogServiceGetVolume({ path: { shelf: "a", volume: "none" } });
    assert.equal(none.error?.code, 5);
  },
  async GetVolume2() {
    assert.deepEqual((await sdk.catalogServiceGetVolume2({ path: { id } })).data, emma);
  },
  async ListVolumes() {
    const query = { pageSize: 5, titles: ["Emma", "Walden"] };
    const { data } = await sdk.catalogServiceListVolumes({ path: { shelf: "a" }, query });
    assert.deepEqual(data, { volumes: [emma] });
  },
  async UpdateVolume() {
    const title = "Emma, 1";
    const { data } = await sdk.catalogServiceUpdateVolume({ path, body: { title } });
    assert.deepEqual(data, { ...emma, title });
    const query = { updateMask: "title" };
    const back = await sdk.catalogServiceUpdateVolume({ path, query, body: { id, title: "Emma" } });
    assert.deepEqual(back.data, emma);
  },
  async UploadVolume() {
    const { data } = await sdk.catalogServiceUploadVolume({ path, body: content() });
    assert.deepEqual(data, emma);
  },
  async DownloadVolume() {
    const { data } = await sdk.catalogServiceDownloadVolume({ path });
    assert.deepEqual(await bytesOf(data), text);
  },
  async AppendVolume() {
    const { data } = await sdk.catalogServiceAppendVolume({ path, body: content() });
    assert.deepEqual(data, emma);
  },
  async StreamVolume() {
    assert.deepEqual(await bytesOf((await sdk.catalogServiceStreamVolume({ path })).data), text);
  },
  async ImportVolumes() {
    const body = [
      { id: 1, title: "Walden" },
      { id, title: "Dune" },
    ];
    const { data } = await sdk.catalogServiceImportVolumes({ path: { shelf: "b" }, body });
    assert.deepEqual(data, { count: "2" });
  },
  async WatchVolumes() {
    const headers = { accept: "application/json" };
    const { data } = await sdk.catalogServiceWatchVolumes({ path: { shelf: "b" }, headers });
    assert.deepEqual(
      (data as { id: string }[]).map((one) => one.id),
      ["1", id],
    );
  },
  async MoveVolume() {
    const { data } = await sdk.catalogServiceMoveVolume({ path, body: { to: "shelves/c" } });
    assert.deepEqual(data, { ...emma, name: `shelves/c/volumes/${id}` });
  },
  async DeleteVolume() {
    const { data } = await sdk.catalogServiceDeleteVolume({ path: { shelf: "c", volume: id } });
    assert.deepEqual(data, {});
  },
  async ReadFile() {
    const { data } = await sdk.catalogServiceReadFile({ path: { path: "a b.txt" } });
    assert.deepEqual(data, { path: "a b.txt" });
  },
  async ReadFile_2() {
    const { data } = await sdk.catalogServiceReadFile2({ path: { path: "a", path_2: "b.txt" } });
    assert.deepEqual(data, { path: "a/b.txt" });
  },
  async ReadFile_3() {
    const place = { path: "a", path_2: "b", path_3: "c" };
    const { data } = await sdk.catalogServiceReadFile3({ path: place });
    assert.deepEqual(data, { path: "a/b/c" });
  },
  async ReadFile_4() {
    const place = { path: "a", path_2: "b", path_3: "c", path_4: "d" };
    const { data } = await sdk.catalogServiceReadFile4({ path: place });
    assert.deepEqual(data, { path: "a/b/c/d" });
  },
  async GetBook() {
    const { data } = await sdk.bookServiceGetBook({ path: { shelf: "a", book: "1" } });
    assert.equal(data?.title, "Emma");
  },
  async UpdateBook() {
    const place = { shelf: "a", book: "1" };
    const before = (await sdk.bookServiceGetBook({ path: place })).data;
    const body = { title: "Persuasion" };
    const { data } = await sdk.bookServiceUpdateBook({ path: place, body });
    assert.deepEqual(data, { ...before, title: "Persuasion" }); // and nothing else
  },
  async UpdateBook2() {
    const body = { book: { title: "Emma" }, updateMask: "title" };
    assert.equal((await sdk.bookServiceUpdateBook2({ body })).data?.title, "Emma");
  },
};

async function run(): Promise<void> {
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
      process.stdout.write(`passed ${name}\n`);
    } catch (error) {
      process.stdout.write(`failed ${name}: ${String(error).replaceAll("\n", " ")}\n`);
    }
  }
}

void run();
