/** Calls every operation: `node out/calls.js ORIGIN`. */
import * as sdk from "./client";
import { callAll } from "./operations";

// The paths that it generates have no origin.
const send = globalThis.fetch;
globalThis.fetch = (path, init) => send(`${process.argv[2]}${path}`, init);
const id = "9007199254740993";
const at = ["a", id] as const;

const dataOf = async (call: Promise<{ data: unknown }>) => (await call).data;
async function bytesOf(call: Promise<{ data: unknown }>): Promise<Uint8Array> {
  return new Uint8Array(await ((await call).data as Blob).arrayBuffer());
}

void callAll({
  createVolume: (shelf, body) => dataOf(sdk.catalogServiceCreateVolume(shelf, body)),
  getVolume: (volume) => dataOf(sdk.catalogServiceGetVolume("a", volume)),
  getVolumeById: (id) => dataOf(sdk.catalogServiceGetVolume2(id)),
  listVolumes: (query) => dataOf(sdk.catalogServiceListVolumes("a", query)),
  updateVolume: (body, updateMask) =>
    dataOf(sdk.catalogServiceUpdateVolume(...at, body, updateMask ? { updateMask } : undefined)),
  uploadVolume: (bytes) => dataOf(sdk.catalogServiceUploadVolume(...at, new Blob([bytes]))),
  downloadVolume: () => bytesOf(sdk.catalogServiceDownloadVolume(...at)),
  appendVolume: (bytes) => dataOf(sdk.catalogServiceAppendVolume(...at, new Blob([bytes]))),
  streamVolume: () => bytesOf(sdk.catalogServiceStreamVolume(...at)),
  importVolumes(body) {
    // Of several media types, it leaves the choice to the caller.
    const headers = { "content-type": "application/json" };
    return dataOf(sdk.catalogServiceImportVolumes("b", body, {}, { headers }));
  },
  async watchVolumes() {
    const answer = await sdk.catalogServiceWatchVolumes("b");
    const lines = "stream" in answer ? await answer.stream.text() : "";
    return lines
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  },
  moveVolume: (to) => dataOf(sdk.catalogServiceMoveVolume(...at, { to })),
  deleteVolume: (shelf) => dataOf(sdk.catalogServiceDeleteVolume(shelf, id)),
  readFile: [
    (one = "") => dataOf(sdk.catalogServiceReadFile(one)),
    (one = "", two = "") => dataOf(sdk.catalogServiceReadFile2(one, two)),
    (one = "", two = "", three = "") => dataOf(sdk.catalogServiceReadFile3(one, two, three)),
    (one = "", two = "", three = "", four = "") =>
      dataOf(sdk.catalogServiceReadFile4(one, two, three, four)),
  ],
  getBook: () => dataOf(sdk.bookServiceGetBook("a", "1")),
  updateBook: (body) => dataOf(sdk.bookServiceUpdateBook("a", "1", body)),
  updateMaskedBook: (body) => dataOf(sdk.bookServiceUpdateBook2(body)),
});
