/** Calls every operation: `node out/calls.js ORIGIN`. */
import * as sdk from "./client";
import { client } from "./client/client.gen";
import { callAll } from "./operations";

client.setConfig({ baseUrl: process.argv[2] ?? "" });
const id = "9007199254740993";
const path = { shelf: "a", volume: id };
const book = { shelf: "a", book: "1" };

async function outcomeOf(call: Promise<{ data?: unknown; error?: unknown }>): Promise<unknown> {
  const { data, error } = await call;
  return data ?? error;
}
async function bytesOf(call: Promise<{ data?: unknown }>): Promise<Uint8Array> {
  return new Uint8Array(await ((await call).data as Blob).arrayBuffer());
}

void callAll({
  createVolume: (shelf, body) =>
    outcomeOf(sdk.catalogServiceCreateVolume({ path: { shelf }, ...(body && { body }) })),
  getVolume: (volume) => outcomeOf(sdk.catalogServiceGetVolume({ path: { ...path, volume } })),
  getVolumeById: (id) => outcomeOf(sdk.catalogServiceGetVolume2({ path: { id } })),
  listVolumes: (query) => outcomeOf(sdk.catalogServiceListVolumes({ path, query })),
  updateVolume: (body, updateMask) =>
    outcomeOf(
      sdk.catalogServiceUpdateVolume({ path, body, ...(updateMask && { query: { updateMask } }) }),
    ),
  uploadVolume: (bytes) =>
    outcomeOf(sdk.catalogServiceUploadVolume({ path, body: new Blob([bytes]) })),
  downloadVolume: () => bytesOf(sdk.catalogServiceDownloadVolume({ path })),
  appendVolume: (bytes) =>
    outcomeOf(sdk.catalogServiceAppendVolume({ path, body: new Blob([bytes]) })),
  streamVolume: () => bytesOf(sdk.catalogServiceStreamVolume({ path })),
  importVolumes: (body) =>
    outcomeOf(sdk.catalogServiceImportVolumes({ path: { shelf: "b" }, body })),
  watchVolumes: () => {
    const headers = { accept: "application/json" };
    return outcomeOf(sdk.catalogServiceWatchVolumes({ path: { shelf: "b" }, headers }));
  },
  moveVolume: (to) => outcomeOf(sdk.catalogServiceMoveVolume({ path, body: { to } })),
  deleteVolume: (shelf) => outcomeOf(sdk.catalogServiceDeleteVolume({ path: { ...path, shelf } })),
  readFile: [
    (path = "") => outcomeOf(sdk.catalogServiceReadFile({ path: { path } })),
    (path = "", path_2 = "") => outcomeOf(sdk.catalogServiceReadFile2({ path: { path, path_2 } })),
    (path = "", path_2 = "", path_3 = "") =>
      outcomeOf(sdk.catalogServiceReadFile3({ path: { path, path_2, path_3 } })),
    (path = "", path_2 = "", path_3 = "", path_4 = "") =>
      outcomeOf(sdk.catalogServiceReadFile4({ path: { path, path_2, path_3, path_4 } })),
  ],
  getBook: () => outcomeOf(sdk.bookServiceGetBook({ path: book })),
  updateBook: (body) => outcomeOf(sdk.bookServiceUpdateBook({ path: book, body })),
  updateMaskedBook: (body) => outcomeOf(sdk.bookServiceUpdateBook2({ body })),
});
