import { createTokenCommand } from "connect-gateway-kit/command";
import { plantStore, schema, tokenPrefix } from "../server/settings.ts";
import { assertTokenFile } from "./output-file.ts";

/** `plant-store token`: the opaque tokens of a token file. */
export function createTokens() {
  return createTokenCommand(
    plantStore,
    tokenPrefix,
    (file = schema.auth.tokenFile.default ?? "") => {
      assertTokenFile(file);
      return file;
    },
  );
}
