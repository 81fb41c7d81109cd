/** Of `npm run test:mutants -- --broad FOLDER`. */

import { relative } from "node:path";
import { declareClassPlugin, declareValuePlugin, PluginKind } from "@stryker-mutator/api/plugin";

/** No test needs to hold the words for people: those of errors, and texts with spaces but SQL. */
const words = {
  shouldIgnore(path) {
    const text = textOf(path);
    if (text === undefined) return undefined;
    const isError = path.parentPath?.isNewExpression() && /Error$/.test(path.parent.callee.name);
    return isError || (/ /.test(text) && !/^\s*[A-Z]{4}/.test(text))
      ? "words for people"
      : undefined;
  },
};

function textOf(path) {
  if (path.isStringLiteral()) return path.node.value;
  return path.isTemplateLiteral()
    ? path.node.quasis.map(({ value }) => value.raw).join("")
    : undefined;
}

/** Prints each mutant that no test has killed at once, as --mutate takes it: a folder takes an hour. */
class Survivors {
  onMutantTested({ status, fileName, location, replacement }) {
    if (status !== "Survived" && status !== "NoCoverage") return;
    const { start, end } = location;
    const range = `${start.line}:${start.column - 1}-${end.line}:${end.column - 1}`;
    process.stdout.write(`${status} ${relative("", fileName)}:${range} -> ${replacement}\n`);
  }
}

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, "words", words),
  declareClassPlugin(PluginKind.Reporter, "survivors", Survivors),
];

// biome-ignore lint/style/noDefaultExport: Stryker reads it
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner", import.meta.filename],
  ignorers: ["words"],
  // Tests that change the working folder need a process.
  vitest: { configFile: "test/faults/mutants/vitest.config.ts", related: false, pool: "forks" },
  coverageAnalysis: "perTest",
  // They are tables and constants, and each would take all tests.
  ignoreStatic: true,
  concurrency: 1,
  timeoutMS: 10_000,
  // A hang ends by the timeout of its test. On a busy machine, survivors were counted as hanging.
  timeoutFactor: 5,
  // Vitest finds no tests in node_modules.
  tempDirName: "data/stryker",
  reporters: ["survivors", "progress-append-only", "clear-text"],
  clearTextReporter: {
    allowColor: false,
    logTests: false,
    reportTests: false,
    reportMutants: false,
  },
  // Links to folders cannot be copied.
  ignorePatterns: ["dist", "docs", "deploy", "examples", "third_party"],
  // It would read this file by TypeScript's old API.
  tsconfigFile: "none.json",
};
