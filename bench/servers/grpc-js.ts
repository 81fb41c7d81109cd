/** CreatePlant on grpc-js, with the proto loaded by proto-loader. */

import { fileURLToPath } from "node:url";
import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceClientConstructor,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { announceUrl } from "./announce.ts";

interface Plant {
  readonly name: string;
  readonly tag?: string;
}

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const definition = loadSync("plantstore/v1/plant_service.proto", {
  includeDirs: [folder("../../proto"), folder("../../node_modules/google-proto-files")],
  longs: String,
});
const root = loadPackageDefinition(definition) as unknown as {
  readonly plantstore: { readonly v1: { readonly PlantService: ServiceClientConstructor } };
};

const server = new Server();
server.addService(root.plantstore.v1.PlantService.service, {
  createPlant(
    { request }: ServerUnaryCall<{ plant: Plant }, { plant: Plant }>,
    done: sendUnaryData<{ plant: Plant }>,
  ) {
    const { name, tag } = request.plant;
    done(null, { plant: tag === undefined ? { name } : { name, tag } });
  },
});
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  announceUrl(`http://127.0.0.1:${port}`);
});
