import { defineConfig } from "vitest/config";

/** Only the tests of one folder, without what the others need. */
export default defineConfig({
  ssr: { resolve: { conditions: ["connect-gateway-source"] } },
  test: {
    testTimeout: 20_000,
    globalSetup: ["test/support/shared-postgres.ts"],
    include: (process.env["MUTANTS_TESTS"] ?? "").split(","),
  },
});
