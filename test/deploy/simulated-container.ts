/** What deploy/Containerfile makes of the build, as far as a process alone can show it. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, cp, link, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { findFreePort } from "../../packages/gateway/test/support/free-port.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { collectOutput } from "../support/output.ts";
import { knownToken } from "../support/test-server.ts";
import { environmentOf, textOf } from "./containerfile.ts";
import { readImage, stateDir } from "./facts.ts";

/**
 * The image's files, command, variables and user, in a folder that the user may
 * not write to. Who is not root stays who they are, and the folder is locked.
 *
 * @param build Where the build is: the checkout, or the package.
 */
export async function simulateContainer(build: string) {
  const image = readImage("plant-store");
  const temporary = await createTemporaryFolder();
  const state = join(temporary.path, "state");
  const node = join(temporary.path, "node");
  const [uid = 0, gid = 0] = textOf(image, "USER").split(":").map(Number);
  const isRoot = process.getuid?.() === 0;
  await mkdir(state, { mode: 0o700 });
  if (isRoot) await chown(state, uid, gid);
  // Where this Node is, another user may not be allowed to look.
  await link(process.execPath, node).catch(() => copyFile(process.execPath, node));
  await chmod(temporary.path, 0o755);
  const home = join(temporary.path, "home");
  await mkdir(home);
  for (const { name, text } of image.instructions) {
    const [source = "", destination = ""] = text.split(/\s+/);
    if (name !== "COPY" || destination === stateDir) continue;
    const target = destination === "./" ? basename(source) : destination;
    await cp(source.replace("/build", build), join(home, target), { recursive: true });
  }
  await chmod(home, 0o555);

  const port = await findFreePort();
  const env: Record<string, string> = {};
  for (const [name, value] of environmentOf(image)) env[name] = value.replace(stateDir, state);
  Object.assign(env, { PLANT_STORE_PORT: `${port}`, PLANT_STORE_TOKENS: knownToken });
  const options = { ...(isRoot && { uid, gid }), cwd: home, env };

  const folder = textOf(image, "WORKDIR");
  const wordsOf = (name: string): string[] => JSON.parse(textOf(image, name).replace(/^CMD /, ""));
  const inHome = (words: readonly string[]) =>
    words.slice(1).map((word) => word.replace(folder, home));
  const program = inHome([...wordsOf("ENTRYPOINT"), ...wordsOf("CMD")]);
  const server = spawn(node, program, { ...options, stdio: ["ignore", "inherit", "pipe"] });
  const exited = once(server, "exit");

  return {
    ...{ server, output: collectOutput(server.stderr, "stderr"), port, state },
    /** Runs the HEALTHCHECK. Rejects when it fails. */
    checkHealth: () => promisify(execFile)(node, inHome(wordsOf("HEALTHCHECK")), options),
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await exited;
      await chmod(home, 0o755);
      await rm(node);
      await temporary[Symbol.asyncDispose]();
    },
  };
}
