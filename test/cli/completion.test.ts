/** What a shell offers on a command line of plant-store that is not whole yet. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { createBashCompletion } from "../../src/cli/completion/bash.ts";
import { findPlaces } from "../../src/cli/completion/place.ts";
import { schemaEntries } from "../../src/server/settings/schema.ts";
import { runInProcess } from "../support/run-in-process.ts";

const shells = ["bash", "zsh", "fish"] as const;
const isThere = (shell: string) => spawnSync(shell, ["-c", "exit 0"]).status === 0;

let folder: string;

beforeAll(async () => {
  const temporary = await createTemporaryFolder();
  folder = temporary.path;
  for (const shell of shells) {
    const { stdout } = await runInProcess(["completion", shell]);
    writeFileSync(join(folder, shell), stdout);
  }
  writeFileSync(join(folder, "my config.yaml"), "");
  return () => temporary[Symbol.asyncDispose]();
});

/** The reply of our function to the words, the last of which is being written. */
function bashReply(
  words: readonly string[],
  file = "bash",
): { replies: string[]; hasFiles: boolean } {
  const script = `
    source ./${file}
    hasFiles=yes
    compopt() { [[ "$*" == "+o default" ]] && hasFiles=no; }
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _plant_store
    printf '%s\\n' "$hasFiles" "\${COMPREPLY[@]}"`;
  const args = ["--norc", "-c", script, "bash", "plant-store", ...words];
  const [hasFiles, ...replies] = execFileSync("bash", args, { cwd: folder, encoding: "utf8" })
    .trimEnd()
    .split("\n");
  return { replies: replies.filter((reply) => reply !== ""), hasFiles: hasFiles === "yes" };
}

describe.skipIf(!isThere("bash"))("bash", () => {
  const flagsOfServe = schemaEntries
    .filter(({ setting }) => setting.from !== "variable")
    .map(({ name }) => `--${name}`);

  test.each<[words: readonly string[], replies: readonly string[]]>([
    [["s"], ["serve"]],
    [["co"], ["copy", "config", "completion"]],
    [["--v"], ["--version"]],
    [
      ["serve", "--tls"],
      ["--tls-cert", "--tls-key"],
    ],
    [["serve", "--port", "1", "--base"], ["--base-path"]],
    [
      ["serve", ""],
      [...flagsOfServe, "--config", "--help"],
    ],
    [
      ["token", ""],
      ["create", "list", "revoke", "help", "--help"],
    ],
    [
      ["token", "create", "--"],
      ["--token-file", "--config", "--help"],
    ],
    [["token", "--help", "c"], ["create"]],
    [["migrate", "u"], ["up"]],
    [["config", "check", "--thr"], ["--threads"]],
    [
      ["completion", ""],
      ["bash", "zsh", "fish", "--help"],
    ],
    [["serve", "--host", "token", "--por"], ["--port"]],
    [["serve", "--host", "=", "token", "--por"], ["--port"]],
    [["nonsense", "--hel"], ["--help"]],
  ])("%j: %j", (words, replies) => {
    expect(bashReply(words)).toEqual({ replies, hasFiles: false });
  });

  test.each<[words: readonly string[], hasFiles: boolean]>([
    [["serve", "--tls-cert", ""], true],
    [["serve", "--config", "my"], true],
    [["serve", "--config", "="], true],
    [["serve", "--config", "=", "my"], true],
    [["token", "list", "--token-file", ""], true],
    [["serve", "--host", ""], false],
    [["serve", "--port", "=", ""], false],
    [["copy", "--from", ""], false],
  ])("the value at %j is the name of a file: %s", (words, hasFiles) => {
    expect(bashReply(words)).toEqual({ replies: [], hasFiles });
  });

  test("takes a value that reads like a command for a value", () => {
    const one = new Command("one").option("--deep", "");
    const group = new Command("group").option("--of <name>", "").addCommand(one);
    const places = findPlaces(new Command("plant-store").addCommand(group));
    writeFileSync(join(folder, "group"), createBashCompletion(places));
    for (const value of [["one"], ["=", "one"]]) {
      const words = ["group", "--of", ...value, "--o"];
      expect(bashReply(words, "group").replies).toEqual(["--of"]);
    }
  });

  test("itself asks our function for plant-store", () => {
    const script = "source ./bash; complete -p plant-store";
    const args = ["--norc", "-c", script];
    expect(execFileSync("bash", args, { cwd: folder, encoding: "utf8" })).toBe(
      "complete -o default -F _plant_store plant-store\n",
    );
  });
});

describe.skipIf(!isThere("fish"))("fish", () => {
  test.each<[line: string, replies: readonly string[]]>([
    ["plant-store mig", ["migrate"]],
    ["plant-store serve --tls", ["--tls-cert", "--tls-key"]],
    ["plant-store serve --host token --por", ["--port"]],
    ["plant-store token c", ["create"]],
    ["plant-store serve --config my", ["my config.yaml"]],
    ["plant-store serve --host my", []],
  ])("%s: %j", (line, replies) => {
    const script = "source ./fish; complete -C $argv[1]";
    const args = ["--no-config", "-c", script, line];
    const output = execFileSync("fish", args, { cwd: folder, encoding: "utf8" });
    const words = output.split("\n").map((reply) => reply.split("\t")[0] ?? "");
    expect(words.filter((word) => word !== "")).toEqual(replies);
  });
});

describe.each(shells)("what %s reads", (shell) => {
  test.skipIf(!isThere(shell))("is of its language", () => {
    expect(spawnSync(shell, ["-n", join(folder, shell)], { encoding: "utf8" }).stderr).toBe("");
  });

  test("has every command and flag", async () => {
    const { code, stdout, stderr } = await runInProcess(["completion", shell]);
    expect(stderr).toBe("");
    expect(code).toBe(0);
    for (const word of ["serve", "create", "up", "copy", "check", "fish"]) {
      expect(stdout).toMatch(new RegExp(`\\b${word}\\b`));
    }
    for (const { name, setting } of schemaEntries) {
      const flag = shell === "fish" ? `-l ${name} ` : `--${name}`;
      if (setting.from !== "variable") expect(stdout).toContain(flag);
    }
    // What our words could never mean to a shell.
    expect(stdout).not.toMatch(/`|undefined|\[object/);
  });
});

test("a new command and its flags appear by themselves", () => {
  const program = new Command("program").addCommand(
    new Command("new").description("It's new.").option("--all", "all").option("--of <name>", "one"),
  );
  expect(findPlaces(program)).toEqual([
    expect.objectContaining({
      words: "",
      steps: ["new"],
      next: [{ word: "new", description: "Its new." }, expect.objectContaining({ word: "help" })],
    }),
    {
      words: "new",
      steps: [],
      next: [],
      flags: [
        { word: "--all", description: "all", value: "none" },
        { word: "--of", description: "one", value: "other" },
        { word: "--help", description: "display help for command", value: "none" },
      ],
    },
  ]);
});

test.each([["completion"], ["completion", "tcsh"]])("%j %j is refused", async (...args) => {
  const { code, stdout, stderr } = await runInProcess(args);
  expect(code).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/shell/);
});
