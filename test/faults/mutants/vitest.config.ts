import { globSync } from "node:fs";
import { matchesGlob } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { memoryFolder } from "../../../packages/gateway/test/support/temporary-folder.ts";
import { byFetch } from "../../../vitest.config.ts";

process.env["TMPDIR"] = memoryFolder;

const include = (process.env["MUTANTS_TESTS"] ?? "").split(",");
const mocked = "**/*.mocked.test.ts";
const needsPostgres = include.some((pattern) => pattern.startsWith("test/store/"));
// Many a mutant waits for ever. Stores start threads and servers.
const waitMs = needsPostgres ? 10_000 : 5000;

/** The first failure ends the run of a mutant: what failed last and what is quick may find it first. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = (file: TestSpecification) => {
      const { failed = false, duration = 0 } =
        this.ctx.cache.getTestSpecificationResult(file) ?? {};
      const seconds = failed ? 0 : duration / 1000;
      return 10_000 * file.project.config.sequence.groupOrder + seconds;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

const shared = { name: "shared", include, exclude: [mocked], isolate: false };
const files = globSync(byFetch.include).filter((file) =>
  include.some((one) => matchesGlob(file, one)),
);
const alone = { name: "mocked", include, exclude: ["**/!(*.mocked).test.ts"] };

/** Only the tests of one folder, without what the others need. */
export default defineConfig({
  ssr: { resolve: { conditions: ["connect-gateway-source"] } },
  test: {
    testTimeout: waitMs,
    expect: { poll: { timeout: waitMs } },
    globalSetup: needsPostgres ? ["test/support/shared-postgres.ts"] : [],
    setupFiles: ["test/faults/mutants/threads.setup.ts"],
    sequence: { sequencer: QuickFirst },
    projects: [
      { extends: true, test: shared },
      { extends: true, test: { ...byFetch, include: files } },
      // Each takes a worker of its own.
      { extends: true, test: { ...alone, sequence: { groupOrder: 1 } } },
    ],
  },
});
