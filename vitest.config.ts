import { readFileSync, statfsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { memoryFolder } from "./packages/gateway/test/support/temporary-folder.ts";
import { patienceMs } from "./packages/gateway/test/support/within.ts";

// Of every process and thread that runs our code for a test; not in the cache of who runs the tests.
process.env["NODE_COMPILE_CACHE"] = join(import.meta.dirname, "node_modules/.cache/plant-store");

// Thousands of stores sync their files, which waits for a disk. In memory, it takes no time.
if (hasRoom(memoryFolder)) process.env["TMPDIR"] = memoryFolder;

const packages = ["test/*package.test.ts", "test/page/snippets.test.ts"];
// Root's disks, and a browser.
const machine = ["test/store/full-disk.test.ts", "test/page/browser.test.ts"];
const differential = "packages/gateway/test/differential/*.test.ts";

/** The rows of Node's adapter again, by fetch. */
export const byFetch = {
  name: "by-fetch",
  env: { GATEWAY_BY: "fetch" },
  include: [
    "packages/proxy/test/{catalog,tools}.test.ts",
    "packages/gateway/test/mcp/{protocol,streams}.test.ts",
    "packages/gateway/test/{body-budget,exact-json,read-max-values}.test.ts",
    "packages/gateway/test/adapter/{cors,observer,peer-address,unexpected-errors}.test.ts",
    "packages/gateway/test/rest/{compression,empty-body,entity-tag}.test.ts",
    "packages/gateway/test/rest/{gate,handler,http-body,options}.test.ts",
    "packages/gateway/test/rest/outcome.test.ts",
    "packages/gateway/test/rest/{client,server}-streams.test.ts",
    "packages/gateway/test/rest/{answer-status,update-mask}.test.ts",
    "packages/gateway/test/rpc/{deadline,rule-violations}.test.ts",
  ],
  setupFiles: ["packages/gateway/test/support/by-fetch.setup.ts"],
  isolate: false,
};

export default defineConfig({
  // As scripts/node.js says: connect-gateway is its source here.
  ssr: { resolve: { conditions: ["connect-gateway-source"] } },
  test: {
    // The message of what did not come says more.
    testTimeout: 3 * patienceMs,
    hookTimeout: 3 * patienceMs,
    expect: { poll: { timeout: patienceMs } },
    // Many tests wait for something.
    maxWorkers: availableParallelism() + 4,
    globalSetup: ["test/support/shared-postgres.ts", "test/support/bundled-programs.ts"],
    setupFiles: ["packages/kit/test/support/token-leaks.setup.ts"],
    // Failures alone, with what their tests printed.
    reporters: ["minimal", "./test/support/closing-line.ts"],
    projects: [
      {
        extends: true,
        test: {
          name: "shared",
          include: ["test/**/*.test.ts", "packages/*/test/**/*.test.ts"],
          exclude: [
            "**/node_modules/**",
            "**/*.mocked.test.ts",
            ...packages,
            ...machine,
            differential,
          ],
          // One worker runs many files, and loads what they import once.
          isolate: false,
        },
      },
      {
        extends: true,
        test: byFetch,
      },
      // Those that install what npm packs or run compilers, those that need more than Node, and
      // those that compare thousands of answers: they take half a minute and more.
      { extends: true, test: { name: "packages", include: packages } },
      { extends: true, test: { name: "machine", include: machine } },
      { extends: true, test: { name: "differential", include: [differential], isolate: false } },
      {
        extends: true,
        // Those that replace a module or the timers for everything in their worker.
        test: { name: "mocked", include: ["{test,packages/*/test}/**/*.mocked.test.ts"] },
      },
    ],
  },
});

/** For the servers of PostgreSQL, too; and whether programs can run there. Containers have 64 MiB. */
function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  const mounts = process.platform === "linux" ? readFileSync("/proc/mounts", "utf8") : "";
  const mayRun = !new RegExp(`^\\S+ ${folder} \\S+ \\S*\\bnoexec\\b`, "m").test(mounts);
  return bavail * bsize > 4 * 1024 ** 3 && mayRun;
}
