/** What each operation answers, whichever client calls it. The calls are in calls.ts of its folder. */
import assert from "node:assert/strict";

const id = "9007199254740993";
const emma = { name: `shelves/a/volumes/${id}`, id, title: "Emma" };
const text = Uint8Array.of(0, 255, 10, 13);

/** Each call returns the data of its answer, or the error in it. */
export interface Client {
  createVolume(shelf: string, body?: { id: string; title: string }): Promise<unknown>;
  getVolume(volume: string): Promise<unknown>;
  getVolumeById(id: string): Promise<unknown>;
  listVolumes(query: { pageSize: number; titles: string[] }): Promise<unknown>;
  updateVolume(body: { id?: string; title: string }, updateMask?: string): Promise<unknown>;
  uploadVolume(content: Uint8Array<ArrayBuffer>): Promise<unknown>;
  downloadVolume(): Promise<Uint8Array>;
  appendVolume(content: Uint8Array<ArrayBuffer>): Promise<unknown>;
  streamVolume(): Promise<Uint8Array>;
  importVolumes(volumes: { id: string | number; title: string }[]): Promise<unknown>;
  watchVolumes(): Promise<unknown>;
  moveVolume(to: string): Promise<unknown>;
  deleteVolume(shelf: string): Promise<unknown>;
  /** Of as many segments. */
  readFile: readonly ((...path: string[]) => Promise<unknown>)[];
  getBook(): Promise<unknown>;
  updateBook(body: { title: string }): Promise<unknown>;
  updateMaskedBook(body: { book: { title: string }; updateMask: string }): Promise<unknown>;
}

const operations: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  async CreateVolume(client) {
    assert.deepEqual(await client.createVolume("a", { id, title: "Emma" }), emma);
    // A body that may be absent is the empty message.
    assert.deepEqual(await client.createVolume("z"), { name: "shelves/z/volumes/0" });
  },
  async GetVolume(client) {
    assert.deepEqual(await client.getVolume(id), emma);
    const message = "there is no shelves/a/volumes/none";
    assert.deepEqual(await client.getVolume("none"), { code: 5, message, details: [] });
  },
  async GetVolume2(client) {
    assert.deepEqual(await client.getVolumeById(id), emma);
  },
  async ListVolumes(client) {
    const query = { pageSize: 5, titles: ["Emma", "Walden"] };
    assert.deepEqual(await client.listVolumes(query), { volumes: [emma] });
  },
  async UpdateVolume(client) {
    const title = "Emma, 1";
    assert.deepEqual(await client.updateVolume({ title }), { ...emma, title });
    assert.deepEqual(await client.updateVolume({ id, title: "Emma" }, "title"), emma);
  },
  async UploadVolume(client) {
    assert.deepEqual(await client.uploadVolume(text), emma);
  },
  async DownloadVolume(client) {
    assert.deepEqual(await client.downloadVolume(), text);
  },
  async AppendVolume(client) {
    assert.deepEqual(await client.appendVolume(text), emma);
  },
  async StreamVolume(client) {
    assert.deepEqual(await client.streamVolume(), text);
  },
  async ImportVolumes(client) {
    const volumes = [
      { id: 1, title: "Walden" },
      { id, title: "Dune" },
    ];
    assert.deepEqual(await client.importVolumes(volumes), { count: "2" });
  },
  async WatchVolumes(client) {
    const volumes = (await client.watchVolumes()) as { id: string }[];
    assert.deepEqual(
      volumes.map((one) => one.id),
      ["1", id],
    );
  },
  async MoveVolume(client) {
    const moved = { ...emma, name: `shelves/c/volumes/${id}` };
    assert.deepEqual(await client.moveVolume("shelves/c"), moved);
  },
  async DeleteVolume(client) {
    assert.deepEqual(await client.deleteVolume("c"), {});
  },
  ReadFile: (client) => readFile(client, "a b.txt"),
  ReadFile_2: (client) => readFile(client, "a", "b.txt"),
  ReadFile_3: (client) => readFile(client, "a", "b", "c"),
  ReadFile_4: (client) => readFile(client, "a", "b", "c", "d"),
  async GetBook(client) {
    assert.equal(((await client.getBook()) as { title: string }).title, "Emma");
  },
  async UpdateBook(client) {
    const before = (await client.getBook()) as object;
    const title = "Persuasion";
    assert.deepEqual(await client.updateBook({ title }), { ...before, title }); // and nothing else
  },
  async UpdateBook2(client) {
    const body = { book: { title: "Emma" }, updateMask: "title" };
    assert.equal(((await client.updateMaskedBook(body)) as { title: string }).title, "Emma");
  },
};

async function readFile(client: Client, ...path: string[]): Promise<void> {
  assert.deepEqual(await client.readFile[path.length - 1]?.(...path), { path: path.join("/") });
}

/** Calls every operation. Writes the name of each that answered well. */
export async function callAll(client: Client): Promise<void> {
  for (const [name, call] of Object.entries(operations)) {
    try {
      await call(client);
      process.stdout.write(`passed ${name}\n`);
    } catch (error) {
      process.stdout.write(`failed ${name}: ${String(error).replaceAll("\n", " ")}\n`);
    }
  }
}
