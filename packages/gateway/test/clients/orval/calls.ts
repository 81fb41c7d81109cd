/** Calls every operation: `node out/calls.js ORIGIN`. Writes the name of each that answered well. */
import assert from "node:assert/strict";
import * as sdk from "./client";

// The paths that it generates have no origin.
const send = globalThis.fetch;
globalThis.fetch = (path, init) => send(`${process.argv[2]}${path}`, init);
const id = "9007199254740993";
const at = ["a", id] as const;
const emma = { name: `shelves/a/volumes/${id}`, id, title: "Emma" };
const text = Uint8Array.of(0, 255, 10, 13);
const content = () => new Blob([text]);
const bytesOf = async (blob: unknown) => new Uint8Array(await (blob as Blob).arrayBuffer());

const calls: Record<string, () => Promise<void>> = {
  async CreateVolume() {
    const { data } = await sdk.catalogServiceCreateVolume("a", { id, title: "Emma" });
    assert.deepEqual(data, emma);
    const empty = await sdk.catalogServiceCreateVolume("z");
    assert.deepEqual(empty.data, { name: "shelves/z/volumes/0" });
  },
  async GetVolume() {
    assert.deepEqual((await sdk.catalogServiceGetVolume(...at)).data, emma);
    const none = await sdk.catalogServiceGetVolume("a", "none");
    assert.equal(none.status !== 200 && none.data.code, 5);
  },
  async GetVolume2() {
    assert.deepEqual((await sdk.catalogServiceGetVolume2(id)).data, emma);
  },
  async ListVolumes() {
    const params = { pageSize: 5, titles: ["Emma", "Walden"] };
    const { data } = await sdk.catalogServiceListVolumes("a", params);
    assert.deepEqual(data, { volumes: [emma] });
  },
  async UpdateVolume() {
    const title = "Emma, 1";
    const { data } = await sdk.catalogServiceUpdateVolume(...at, { title });
    assert.deepEqual(data, { ...emma, title });
    const body = { id, title: "Emma" };
    const back = await sdk.catalogServiceUpdateVolume(...at, body, { updateMask: "title" });
    assert.deepEqual(back.data, emma);
  },
  async UploadVolume() {
    assert.deepEqual((await sdk.catalogServiceUploadVolume(...at, content())).data, emma);
  },
  async DownloadVolume() {
    const { data } = await sdk.catalogServiceDownloadVolume(...at);
    assert.deepEqual(await bytesOf(data), text);
  },
  async AppendVolume() {
    assert.deepEqual((await sdk.catalogServiceAppendVolume(...at, content())).data, emma);
  },
  async StreamVolume() {
    const { data } = await sdk.catalogServiceStreamVolume(...at);
    assert.deepEqual(await bytesOf(data), text);
  },
  async ImportVolumes() {
    const body = [
      { id: 1, title: "Walden" },
      { id, title: "Dune" },
    ];
    // Of several media types, it leaves the choice to the caller.
    const headers = { "content-type": "application/json" };
    const { data } = await sdk.catalogServiceImportVolumes("b", body, {}, { headers });
    assert.deepEqual(data, { count: "2" });
  },
  async WatchVolumes() {
    const answer = await sdk.catalogServiceWatchVolumes("b");
    const lines = "stream" in answer ? await answer.stream.text() : "";
    const volumes = lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { id: string });
    assert.deepEqual(
      volumes.map((one) => one.id),
      ["1", id],
    );
  },
  async MoveVolume() {
    const { data } = await sdk.catalogServiceMoveVolume(...at, { to: "shelves/c" });
    assert.deepEqual(data, { ...emma, name: `shelves/c/volumes/${id}` });
  },
  async DeleteVolume() {
    assert.deepEqual((await sdk.catalogServiceDeleteVolume("c", id)).data, {});
  },
  async ReadFile() {
    assert.deepEqual((await sdk.catalogServiceReadFile("a b.txt")).data, { path: "a b.txt" });
  },
  async ReadFile_2() {
    assert.deepEqual((await sdk.catalogServiceReadFile2("a", "b.txt")).data, { path: "a/b.txt" });
  },
  async ReadFile_3() {
    assert.deepEqual((await sdk.catalogServiceReadFile3("a", "b", "c")).data, { path: "a/b/c" });
  },
  async ReadFile_4() {
    const { data } = await sdk.catalogServiceReadFile4("a", "b", "c", "d");
    assert.deepEqual(data, { path: "a/b/c/d" });
  },
  async GetBook() {
    const answer = await sdk.bookServiceGetBook("a", "1");
    assert.equal(answer.status === 200 && answer.data.title, "Emma");
  },
  async UpdateBook() {
    const before = (await sdk.bookServiceGetBook("a", "1")).data;
    const { data } = await sdk.bookServiceUpdateBook("a", "1", { title: "Persuasion" });
    assert.deepEqual(data, { ...before, title: "Persuasion" }); // and nothing else
  },
  async UpdateBook2() {
    const body = { book: { title: "Emma" }, updateMask: "title" };
    const answer = await sdk.bookServiceUpdateBook2(body);
    assert.equal(answer.status === 200 && answer.data.title, "Emma");
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
