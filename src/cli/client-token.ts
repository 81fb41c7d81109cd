import { open } from "node:fs/promises";
import { CommandFailure, cannot } from "connect-gateway-kit/command/run";
import { isBearerToken } from "../client-token.ts";

/** Longer than any token. A larger file holds something else, and is not read whole. */
const bytesMax = 16 * 1024;

/** From a file or PLANT_STORE_TOKEN: all users see command lines. @throws {CommandFailure} */
export async function readClientToken(file: string | undefined): Promise<string> {
  if (file !== undefined) return assertToken(await readStart(file), file);
  const token = process.env["PLANT_STORE_TOKEN"];
  if (token !== undefined) return assertToken(token.trim(), "PLANT_STORE_TOKEN");
  throw new CommandFailure(2, "there is no token: set --bearer-token-file or PLANT_STORE_TOKEN");
}

/** What one read gives: a pipe may stay open. */
async function readStart(file: string): Promise<string> {
  try {
    await using handle = await open(file, "r");
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytesMax), 0, bytesMax);
    return buffer.toString("utf8", 0, bytesRead).trim();
  } catch (error) {
    throw cannot("read the token from", file, error);
  }
}

function assertToken(token: string, place: string): string {
  if (isBearerToken(token)) return token;
  const hint = /^(create|revoke) \S+ /m.test(token)
    ? "it is a server's token file, which contains digests, not tokens"
    : "it must contain one token and nothing else";
  const problem = `${place} contains no token: ${hint}; plant-store token create makes one`;
  throw new CommandFailure(2, problem);
}
