import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    // Of every plant-store that a test starts; not in the cache of who runs the tests.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/plant-store") },
    setupFiles: ["test/support/token-leaks.setup.ts"],
    reporters: ["default", "./test/support/closing-line.ts"],
  },
});
