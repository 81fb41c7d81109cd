import { defineConfig } from "vitest/config";

const include = (process.env["MUTANTS_TESTS"] ?? "").split(",");
const mocked = "**/*.mocked.test.ts";

/** Only the tests of one folder, without what the others need. */
export default defineConfig({
  ssr: { resolve: { conditions: ["connect-gateway-source"] } },
  test: {
    testTimeout: 20_000,
    globalSetup: ["test/support/shared-postgres.ts"],
    projects: [
      { extends: true, test: { name: "shared", include, exclude: [mocked], isolate: false } },
      { extends: true, test: { name: "mocked", include, exclude: ["**/!(*.mocked).test.ts"] } },
    ],
  },
});
