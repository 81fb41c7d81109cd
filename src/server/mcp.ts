/** The store as a tool of language models. */
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { requireFields } from "connect-gateway";
import { gatewayFetchHandler } from "connect-gateway/fetch";
import { logFailures } from "connect-gateway/logging";
import { createMcp, type Mcp } from "connect-gateway/mcp";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { PlantStore } from "../plant.ts";
import { createPlantService } from "../service.ts";
import type { ServerSettings } from "./settings.ts";
import { version } from "./version.ts";

export function createTools({ auth }: Pick<ServerSettings, "auth">): Mcp {
  const set = readFileSync(new URL("../../gen/plantstore.binpb", import.meta.url));
  // RFC 8707: a token that is meant for a resource names its URL. Some issuers have names of another kind.
  const { jwtIssuer, jwtAudience: resource = "" } = auth;
  const isUrl = /^https?:\/\//.test(resource) && URL.canParse(resource);
  return createMcp({
    tools: [PlantService.typeName],
    server: { name: "plant-store", version },
    // Generated code has no comments.
    descriptors: createFileRegistry(fromBinary(FileDescriptorSetSchema, set)),
    schemas: "plain", // others fail in the Python SDK of Gemini and in AutoGen
    textPattern: "^[^\\x00]*$",
    ...(isUrl && jwtIssuer && { authorization: { resource, issuers: [jwtIssuer] } }),
  });
}

/** Serves the tool alone, to whoever has started this process. */
export function createMcpHandler(
  settings: ServerSettings,
  store: PlantStore,
): (request: Request) => Promise<Response> {
  const { log, limits } = settings;
  return gatewayFetchHandler({
    routes: (router) => router.service(PlantService, createPlantService(store)),
    mcp: createTools(settings),
    interceptors: [logFailures(log), requireFields],
    readMaxBytes: limits.bodyBytesMax,
    readMaxValues: limits.messageValuesMax,
    onError: (error) => log.error("cannot create a response", error),
  });
}
