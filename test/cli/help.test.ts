/** What the command line says about itself, and about a line that it does not understand. */
import { describe, expect, test } from "vitest";
import { runInProcess } from "../support/run-in-process.ts";

/** @param line Without the name of the program. */
const run = (line: string) => runInProcess(line.split(" ").filter(Boolean));

test("--help tells of every setting of serve its variable and its default", async () => {
  const { stdout } = await run("serve --help");
  // An option with what belongs to it, as one line.
  const options = stdout.replaceAll(/\n {8,}/g, " ").match(/^ {2}--.*$/gm) ?? [];
  expect(options.length).toBeGreaterThan(15);
  for (const option of options) {
    const [, name = ""] = /^ {2}--([a-z0-9-]+) [<[]/.exec(option) ?? [];
    expect(option).toContain(`PLANT_STORE_${name.replaceAll("-", "_").toUpperCase()}`);
    if (name !== "config") expect(option).toContain("default: ");
  }
});

describe("a command line that cannot be understood exits with 2 and one line", () => {
  test.each([
    ["sreve", /unknown command 'sreve'/],
    ["toString", /unknown command 'toString'/],
    ["--prot 1", /unknown option '--prot'/],
    ["token revoke", /missing required argument 'name'/],
    ["config check --tokens x", /unknown option '--tokens'/],
  ])("%s", async (line, message) => {
    const { stderr, ...result } = await run(line);
    expect(result).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
    // A second line at most: what was meant, perhaps.
    expect(stderr).toMatch(/^[^\n]+\n(\(Did you mean [^\n]+\)\n)?$/);
  });

  test.each(["", "token", "migrate", "config"])("%j says how it is used", async (line) => {
    const stderr = expect.stringMatching(/^Usage: /);
    expect(await run(line)).toEqual({ code: 2, stdout: "", stderr });
  });
});

const odd = "sqlite:a\x1b[31mb\u202e\u2028?x\nplant-store: forged";

test.each([
  [["serve", "--store", odd]],
  [["import", "a\x1b[31m\nb.csv"]],
  [["a\x1b[31mb"]],
  [["serve", "--a\x1b[31mb"]],
])("what a message quotes cannot move the cursor, nor look like a line: %j", async (args) => {
  const { stderr, code } = await runInProcess(args, { PLANT_STORE_TOKEN: "a" });
  expect(code).toBeGreaterThan(0);
  expect(stderr).toContain("\ufffd[31m");
  expect(stderr.trimEnd()).not.toMatch(/[\p{Cc}\u202e\u2028]/u);
});
