/** The catalog as a separate server: `node packages/gateway/test/catalog-server.ts [PORT]`. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pathToFileURL } from "node:url";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { gatewayNodeAdapter } from "../src/index.ts";
import { CatalogService, type Volume, VolumeSchema } from "./gen/library/v1/catalog_pb.ts";

/** CatalogService, in memory. */
export function createCatalog(
  volumes = new Map<string, Volume>(),
): ServiceImpl<typeof CatalogService> {
  const texts = new Map<string, { contentType: string; data: Uint8Array }>();

  function find(name: string): Volume {
    const volume = volumes.get(name);
    if (volume === undefined) throw new ConnectError(`there is no ${name}`, Code.NotFound);
    return volume;
  }

  function add(parent: string, { id, title }: Pick<Volume, "id" | "title">): Volume {
    const volume = create(VolumeSchema, { id, title, name: `${parent}/volumes/${id}` });
    volumes.set(volume.name, volume);
    return volume;
  }

  return {
    getVolume: ({ name, id }) =>
      name === ""
        ? ([...volumes.values()].find((volume) => volume.id === id) ?? find(`volume ${id}`))
        : find(name),
    listVolumes: ({ parent, pageSize, titles }) => ({
      volumes: [...volumes.values()]
        .filter(({ name }) => name.startsWith(`${parent}/`))
        .filter(({ title }) => titles.length === 0 || titles.includes(title))
        .slice(0, pageSize || undefined),
    }),
    createVolume: ({ parent, volume }) => add(parent, volume ?? create(VolumeSchema)),
    updateVolume({ volume, updateMask }) {
      const found = find(volume?.name ?? "");
      if (updateMask?.paths.includes("title")) found.title = volume?.title ?? "";
      return found;
    },
    deleteVolume({ name }) {
      volumes.delete(find(name).name);
      return {};
    },
    moveVolume({ name, to }) {
      const volume = find(name);
      volumes.delete(name);
      return add(to, volume);
    },
    downloadVolume: ({ name }) => texts.get(find(name).name) ?? {},
    uploadVolume({ name, content }) {
      if (content !== undefined) texts.set(name, content);
      return find(name);
    },
    async *watchVolumes({ parent }) {
      for (const volume of volumes.values()) if (volume.name.startsWith(`${parent}/`)) yield volume;
    },
    async importVolumes(requests) {
      let count = 0n;
      for await (const { parent, volume } of requests) {
        add(parent, volume ?? create(VolumeSchema));
        count++;
      }
      return { count };
    },
    async *streamVolume({ name }) {
      const { contentType = "", data = new Uint8Array() } = texts.get(find(name).name) ?? {};
      for (let i = 0; i < data.length; i += 1024) {
        yield { contentType, data: data.subarray(i, i + 1024) };
      }
    },
    async appendVolume(requests) {
      const pieces: Uint8Array[] = [];
      let last = { name: "", contentType: "" };
      for await (const { name, content } of requests) {
        last = { name, contentType: content?.contentType ?? "" };
        pieces.push(content?.data ?? new Uint8Array());
      }
      texts.set(last.name, { contentType: last.contentType, data: Buffer.concat(pieces) });
      return find(last.name);
    },
    readFile: (request) => request,
  };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const handler = gatewayNodeAdapter({
    routes: (router) => router.service(CatalogService, createCatalog()),
  });
  const server = createServer(handler).listen(Number(process.argv[2] ?? 8081), "127.0.0.1");
  server.once("listening", () => {
    const { port } = server.address() as AddressInfo;
    process.stdout.write(`listening on ${port}\n`);
  });
}
