/** Of `npm run test:mutants -- --broad FOLDER`. */
// biome-ignore lint/style/noDefaultExport: Stryker reads it
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/faults/mutants/vitest.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 2,
  timeoutMS: 20_000,
  // Vitest finds no tests in node_modules.
  tempDirName: "data/stryker",
  reporters: ["clear-text"],
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  // Links to folders cannot be copied.
  ignorePatterns: ["dist", "docs", "deploy", "examples", "third_party"],
  // It would read this file by TypeScript's old API.
  tsconfigFile: "none.json",
};
