/**
 * Runs the shell blocks of README.md and docs/, or of the given pages, as they are written, in a fresh
 * clone beside a server.
 */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { collectOutput } from "../support/output.ts";
import { knownToken } from "../support/test-server.ts";
import { needsCitus, startCitusNodes } from "./citus-nodes.ts";
import { findShellBlocks } from "./shell-blocks.ts";

const run = promisify(execFile);

/** The address in the pages. */
const shownUrl = "http://127.0.0.1:8080";

const count = { passed: 0, failed: 0, skipped: 0 };

await using folder = await createTemporaryFolder();
const clone = join(folder.path, "clone");
await run("git", ["clone", "--quiet", process.cwd(), clone]);
const bin = join(folder.path, "bin");
await mkdir(bin);
await writeFile(join(bin, "plant-store"), '#!/bin/sh\nexec npm run -s plant-store -- "$@"\n');
await chmod(join(bin, "plant-store"), 0o755);
const own = Object.entries(process.env).filter(([name]) => !/^(npm_|PLANT_STORE_)/.test(name));
const env = {
  ...Object.fromEntries(own),
  TOKEN: knownToken,
  PATH: `${bin}:${process.env["PATH"]}`,
};
await run("npm", ["ci"], { cwd: clone, env, maxBuffer: 2 ** 24 });

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
    const blocks = findShellBlocks(text);
    const isOfCitus = blocks.some(({ notRun }) => notRun === needsCitus);
    await using nodes = isOfCitus ? await startCitusNodes(text) : undefined;
    for (const block of blocks) {
      const name = `${page}:${block.line}`;
      const own = block.notRun === needsCitus ? nodes : undefined;
      if (block.notRun !== undefined && own === undefined) {
        count.skipped++;
        process.stdout.write(`${name}: not run: ${block.notRun}\n`);
        continue;
      }
      const commands = (own?.localize(block.commands) ?? block.commands).replaceAll(shownUrl, url);
      try {
        const environment = { ...env, ...own?.env };
        await run("bash", ["-euo", "pipefail", "-c", commands], { cwd: clone, env: environment });
        count.passed++;
        process.stdout.write(`${name}: passed\n`);
      } catch (error) {
        count.failed++;
        process.stdout.write(`${name}: failed: ${error}\n`);
      }
    }
  }
} finally {
  server.kill("SIGTERM");
  await within("the end of the server", ended);
}

const { passed, failed, skipped } = count;
process.stdout.write(`\ndocs: ${passed} passed, ${failed} failed, ${skipped} skipped\n`);
if (failed > 0) process.exitCode = 1;
