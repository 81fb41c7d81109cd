/** The store as a tool of language models. */
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createMcp, type Mcp } from "connect-gateway/mcp";
import { PlantService } from "../../gen/plantstore/v1/plant_service_pb.ts";
import type { ServerSettings } from "./settings.ts";
import { version } from "./version.ts";

export function createTools({ auth }: Pick<ServerSettings, "auth">): Mcp {
  const set = readFileSync(new URL("../../gen/plantstore.binpb", import.meta.url));
  // RFC 8707: a token that is meant for a resource names its URL. Some issuers have names of another kind.
  const { jwtIssuer, jwtAudience } = auth;
  const hasResource =
    jwtAudience !== undefined && /^https?:\/\//.test(jwtAudience) && URL.canParse(jwtAudience);
  return createMcp({
    tools: [PlantService.typeName],
    server: { name: "plant-store", version },
    // Generated code has no comments.
    descriptors: createFileRegistry(fromBinary(FileDescriptorSetSchema, set)),
    textPattern: "^[^\\x00]*$",
    ...(hasResource &&
      jwtIssuer !== undefined && {
        authorization: { resource: jwtAudience, issuers: [jwtIssuer] },
      }),
  });
}
