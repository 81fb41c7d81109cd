import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    setupFiles: ["test/support/token-leaks.setup.ts"],
    reporters: ["default", "./test/support/closing-line.ts"],
  },
});
