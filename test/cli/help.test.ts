/** What the command line says about itself, and about a line that it does not understand. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runInProcess } from "../support/run-in-process.ts";

const packageJson = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

describe("--help", () => {
  test.each([
    [["--help"], ["serve", "token", "migrate", "copy", "config", "--version"]],
    [["--help"], ["import", "export", "backup", "check", "health"]],
    [["-h"], ["serve", "token"]],
    [["help"], ["serve", "token"]],
    [
      ["help", "serve"],
      ["--port", "PLANT_STORE_PORT"],
    ],
    [
      ["serve", "--help"],
      ["--port", "PLANT_STORE_PORT", "PLANT_STORE_CONFIG", "--store", "--base-path", "--tls-cert"],
    ],
    [
      ["serve", "-h"],
      ["--drain-timeout-ms", "PLANT_STORE_DRAIN_TIMEOUT_MS", "10000", "PLANT_STORE_TOKENS"],
    ],
    [
      ["serve", "--help"],
      ["--health [on|off]", "PLANT_STORE_HEALTH", "--reflection [on|off]", "--cors-origin <list>"],
    ],
    [
      ["token", "--help"],
      ["create", "list", "revoke"],
    ],
    [
      ["token", "create", "--help"],
      ["<name>", "--token-file", "PLANT_STORE_TOKEN_FILE"],
    ],
    [["token", "list", "--help"], ["--token-file"]],
    [
      ["migrate", "--help"],
      ["status", "up"],
    ],
    [
      ["migrate", "up", "--help"],
      ["--store", "PLANT_STORE_STORE", "sqlite:./data/plants.db"],
    ],
    [
      ["copy", "--help"],
      ["--from <url>", "--to <url>", "later are not copied", "PGPASSWORD", "0 copied and verified"],
    ],
    [
      ["import", "--help"],
      [
        "<file>",
        "--url <url>",
        "--bearer-token-file",
        "PLANT_STORE_TOKEN",
        "--rejects",
        "3 all but the rejected rows",
      ],
    ],
    [
      ["export", "--help"],
      ["--store", "--format", "-o, --output", "one snapshot"],
    ],
    [
      ["backup", "--help"],
      ["<file>", "--store", "--force", "PLANT_STORE_STORE"],
    ],
    [
      ["check", "--help"],
      ["--store", "--token-file", "PLANT_STORE_TOKEN_FILE", "1 something does"],
    ],
    [
      ["token", "revoke", "--help"],
      ["<name>", "--token-file"],
    ],
  ])("of %j exits with 0 and names %j", async (args, names) => {
    const { code, stdout, stderr } = await runInProcess(args);
    expect(code).toBe(0);
    expect(stderr).toBe("");
    for (const name of names) expect(stdout).toContain(name);
  });

  test("tells of every setting of serve its variable and its default", async () => {
    const { stdout } = await runInProcess(["serve", "--help"]);
    // An option with what belongs to it, as one line.
    const options = stdout.replaceAll(/\n {8,}/g, " ").match(/^ {2}--.*$/gm) ?? [];
    expect(options.length).toBeGreaterThan(15);
    for (const option of options) {
      const [, name = ""] = /^ {2}--([a-z0-9-]+) [<[]/.exec(option) ?? [];
      expect(option).toContain(`PLANT_STORE_${name.replaceAll("-", "_").toUpperCase()}`);
      if (name !== "config") expect(option).toContain("default: ");
    }
  });

  test("--version prints the version of the package", async () => {
    expect(await runInProcess(["--version"])).toEqual({
      code: 0,
      stdout: `${packageJson.version}\n`,
      stderr: "",
    });
  });
});

describe("a command line that cannot be understood exits with 2 and one line", () => {
  test.each([
    [["sreve"], /unknown command 'sreve'/],
    [["--prot", "1"], /unknown option '--prot'/],
    [["serve", "--port"], /--port <number>' argument missing/],
    [["serve", "extra"], /too many arguments/],
    [["token", "make", "x"], /unknown command 'make'/],
    [["token", "revoke"], /missing required argument 'name'/],
    [["config", "check", "--tokens", "x"], /unknown option '--tokens'/],
    [["token", "list", "--port", "1"], /unknown option '--port'/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await runInProcess(args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(message);
    // A second line at most: what was meant, perhaps.
    expect(stderr).toMatch(/^[^\n]+\n(\(Did you mean [^\n]+\)\n)?$/);
  });

  test.each([[[]], [["token"]], [["migrate"]], [["config"]]])(
    "%j says how it is used",
    async (args) => {
      const { code, stdout, stderr } = await runInProcess(args);
      expect(code).toBe(2);
      expect(stdout).toBe("");
      expect(stderr).toMatch(/^Usage: /);
    },
  );
});
