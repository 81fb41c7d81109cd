/** What deploy/Containerfile makes of the build, as far as a process alone can show it. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, cp, link, mkdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { findFreePort } from "../support/free-port.ts";
import { collectOutput, type Output } from "../support/output.ts";
import { knownToken } from "../support/test-server.ts";
import { environmentOf, type Stage } from "./containerfile.ts";
import { readImage, stateFolder } from "./facts.ts";

export interface SimulatedContainer extends AsyncDisposable {
  readonly server: ChildProcess;
  readonly output: Output;
  readonly port: number;
  /** Where its volume is. */
  readonly state: string;
  /** Runs the HEALTHCHECK. Rejects when it fails. */
  checkHealth(): Promise<unknown>;
}

/**
 * The image's files, command, variables and user, in a folder that the user may
 * not write to. Who is not root stays who they are, and the folder is locked.
 *
 * @param build Where the build is: the checkout, or the package.
 */
export async function simulateContainer(build: string): Promise<SimulatedContainer> {
  const image = readImage("plant-store");
  const temporary = await createTemporaryFolder();
  const state = join(temporary.path, "state");
  const node = join(temporary.path, "node");
  const identity = process.getuid?.() === 0 ? userOf(image) : undefined;
  await mkdir(state, { mode: 0o700 });
  if (identity !== undefined) await chown(state, identity.uid, identity.gid);
  // Where this Node is, another user may not be allowed to look.
  await link(process.execPath, node).catch(() => copyFile(process.execPath, node));
  await chmod(temporary.path, 0o755);
  const home = join(temporary.path, "home");
  await mkdir(home);
  for (const { name, text } of image.instructions) {
    const [source = "", destination = ""] = text.split(/\s+/);
    if (name !== "COPY" || destination === stateFolder) continue;
    const target = destination === "./" ? basename(source) : destination;
    await cp(source.replace("/build", build), join(home, target), { recursive: true });
  }
  await chmod(home, 0o555);

  const port = await findFreePort();
  const inImage = [...environmentOf(image)].map(([name, value]): [string, string] => [
    name,
    value.replace(stateFolder, state),
  ]);
  const env = {
    ...Object.fromEntries(inImage),
    PLANT_STORE_PORT: String(port),
    PLANT_STORE_TOKENS: knownToken,
  };
  const options = { ...identity, cwd: home, env };

  const folder = textOf(image, "WORKDIR");
  const program = [...wordsOf(textOf(image, "ENTRYPOINT")), ...wordsOf(textOf(image, "CMD"))];
  const inHome = (words: readonly string[]) =>
    words.slice(1).map((word) => word.replace(folder, home));
  const server = spawn(node, inHome(program), { ...options, stdio: ["ignore", "inherit", "pipe"] });
  const exited = once(server, "exit");
  const check = wordsOf(textOf(image, "HEALTHCHECK").replace(/^.*CMD /, ""));

  return {
    server,
    output: collectOutput(server.stderr, "stderr"),
    port,
    state,
    checkHealth: () => promisify(execFile)(node, inHome(check), options),
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await exited;
      await chmod(home, 0o755);
      await rm(node);
      await temporary[Symbol.asyncDispose]();
    },
  };
}

function textOf({ instructions }: Stage, name: string): string {
  const found = instructions.find((instruction) => instruction.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found.text;
}

function wordsOf(text: string): string[] {
  return JSON.parse(text) as string[];
}

function userOf(image: Stage): { uid: number; gid: number } {
  const [uid, gid] = textOf(image, "USER").split(":").map(Number);
  if (!uid || !gid) throw new Error("the user must not be root");
  return { uid, gid };
}
