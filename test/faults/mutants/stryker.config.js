/** Of `npm run test:mutants -- --broad FOLDER`. */

import { declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** No test needs to hold the words of an error. */
const errorText = {
  shouldIgnore(path) {
    const isText = path.isStringLiteral() || path.isTemplateLiteral();
    const isOfError = path.parentPath?.isNewExpression() && /Error$/.test(path.parent.callee.name);
    return isText && isOfError ? "the text of an error" : undefined;
  },
};

export const strykerPlugins = [declareValuePlugin(PluginKind.Ignore, "error-text", errorText)];

// biome-ignore lint/style/noDefaultExport: Stryker reads it
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner", import.meta.filename],
  ignorers: ["error-text"],
  vitest: { configFile: "test/faults/mutants/vitest.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 1,
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
