import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type CatalogService, type Volume, VolumeSchema } from "../../gen/library/v1/catalog_pb.ts";

export type Catalog = Partial<ServiceImpl<typeof CatalogService>>;

export function createCatalog(): Catalog {
  const volumes: Volume[] = [];
  return {
    createVolume({ parent, volume }) {
      const { id = 0n, title = "" } = volume ?? {};
      const name = `${parent}/volumes/${id}`;
      volumes.push(create(VolumeSchema, { name, id, title }));
      return { name, id, title };
    },
    getVolume({ id }) {
      const found = volumes.find((volume) => volume.id === id);
      if (found === undefined) throw new ConnectError(`there is no volume ${id}`, Code.NotFound);
      return found;
    },
    async *watchVolumes() {
      yield* volumes;
    },
    async importVolumes(requests) {
      let count = 0n;
      for await (const _request of requests) count++;
      return { count };
    },
    /** Continues until the client has enough. */
    async *streamVolume({ name }, { signal }) {
      yield { contentType: "text/plain", data: new TextEncoder().encode("begun") };
      if (name.endsWith("/1")) throw new Error("broken");
      if (!signal.aborted) await once(signal, "abort");
      tell("a client has left");
    },
  };
}

/** Prints a line for the parent process. */
export function tell(line: string): void {
  // biome-ignore lint/suspicious/noConsole: what every runtime has
  console.log(line);
}
