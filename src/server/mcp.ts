/** The store as a tool of language models. */
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createMcp, type Mcp } from "connect-gateway/mcp";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { ServerSettings } from "./settings/settings.ts";
import { version } from "./version.ts";

export function createTools({ auth: { jwt } }: Pick<ServerSettings, "auth">): Mcp {
  const set = readFileSync(new URL("../../gen/plantstore.binpb", import.meta.url));
  // RFC 8707: a token that is meant for a resource names its URL.
  const resource = jwt !== undefined && URL.canParse(jwt.audience) ? jwt.audience : undefined;
  return createMcp({
    tools: [PlantService.typeName],
    server: { name: "plant-store", version },
    // Generated code has no comments.
    descriptors: createFileRegistry(fromBinary(FileDescriptorSetSchema, set)),
    textPattern: "^[^\\x00]*$",
    ...(jwt !== undefined &&
      resource !== undefined && { authorization: { resource, issuers: [jwt.issuer] } }),
  });
}
