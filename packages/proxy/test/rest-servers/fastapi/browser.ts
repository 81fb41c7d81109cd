/** A page's program: calls the command as a Connect client, and shows what it heard. */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { CatalogService } from "../../../../gateway/test/gen/library/v1/catalog_pb.ts";

const baseUrl = new URLSearchParams(location.search).get("at") ?? "";
const catalog = createClient(CatalogService, createConnectTransport({ baseUrl }));
const parent = "shelves/browser";
await catalog.createVolume({ parent, volume: { id: 9007199254740993n, title: "é" } });
const { volumes } = await catalog.listVolumes({ parent, pageSize: 3 });
const missing = await catalog.getVolume({ name: `${parent}/volumes/1` }).catch(String);
document.body.textContent = [...volumes.map(({ id, title }) => `${id} ${title}`), missing].join(
  "|",
);
