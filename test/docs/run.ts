/**
 * Runs the shell blocks of README.md and docs/, or of the given pages, as they are written, in a fresh
 * clone beside a server.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTally } from "../../packages/gateway/test/support/tally.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { Unavailable } from "../../packages/gateway/test/support/tool.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { environmentWithoutSettings } from "../support/child.ts";
import { collectOutput } from "../support/output.ts";
import { knownToken } from "../support/test-server.ts";
import { needsCitus, startCitusNodes } from "./citus-nodes.ts";

const run = promisify(execFile);

const shownUrl = "http://127.0.0.1:8080";

/** After `<!-- not run: REASON -->`, a block cannot run here. */
const shellBlock = /(?:<!-- not run: (.+) -->\n\n)?^```sh\n([\s\S]*?)^```$/gm;

using tally = createTally("docs");
await using folder = await createTemporaryFolder();
const clone = join(folder.path, "clone");
await run("git", ["clone", "--quiet", process.cwd(), clone]);
const bin = join(folder.path, "bin");
await mkdir(bin);
const program = '#!/bin/sh\nexec npm run -s plant-store -- "$@"\n';
await writeFile(join(bin, "plant-store"), program, { mode: 0o755 });
const env = {
  ...environmentWithoutSettings(),
  TOKEN: knownToken,
  PATH: `${bin}:${process.env["PATH"]}`,
};
// A tenth of the time of npm ci, which test:first-minute tries.
await run("cp", ["-a", "node_modules", clone]);

const server = spawn("plant-store", ["serve"], {
  cwd: clone,
  env: { ...env, PLANT_STORE_TOKENS: knownToken, PLANT_STORE_PORT: "0", PLANT_STORE_MCP: "on" },
  stdio: ["ignore", "pipe", "pipe"],
});
const ended = once(server, "exit");
try {
  const [, url = ""] = await collectOutput(server.stdout).until(/listens on (\S+)/);
  const pages = process.argv.slice(2);
  for (const page of pages.length > 0 ? pages : ["README.md", ...globSync("docs/*.md").sort()]) {
    const text = await readFile(page, "utf8");
    await using nodes = text.includes(needsCitus) ? await startCitusNodes(text) : undefined;
    for (const { index, 1: notRun, 2: block = "" } of text.matchAll(shellBlock)) {
      const line = text.slice(0, index).split("\n").length;
      await tally.add(`${page}:${line}`, async () => {
        const own = notRun === needsCitus ? nodes : undefined;
        if (notRun !== undefined && own === undefined) throw new Unavailable(notRun);
        const commands = (own?.localize(block) ?? block).replaceAll(shownUrl, url);
        const options = { cwd: clone, env: { ...env, ...own?.env } };
        await run("bash", ["-euo", "pipefail", "-c", commands], options);
      });
    }
  }
} finally {
  server.kill("SIGTERM");
  await within("the end of the server", ended);
}
