/** The snippets of the page run as they are shown, where the machine has what they need. */
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { type ChildServer, spawnServer } from "../support/child-server.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";

interface Shown {
  readonly base: string;
  readonly plant: Readonly<Record<"id" | "name" | "tag", string>>;
}

/** The page's own scripts have no types. */
const page: string = new URL("../../src/server/page/snippets.js", import.meta.url).href;
const { snippets }: { snippets: Readonly<Record<string, (shown: Shown) => string>> } = await import(
  page
);

function render(language: string, shown: Shown): string {
  const snippet = snippets[language];
  if (snippet === undefined) throw new Error(`no snippet for ${language}`);
  return snippet(shown);
}

interface Tool {
  readonly language: string;
  /** Fails where the tool is missing. */
  readonly probe: readonly [string, ...string[]];
  readonly file: string;
  readonly run: readonly [string, ...string[]];
}

const tools: readonly Tool[] = [
  { language: "curl", probe: ["curl", "-V"], file: "create.sh", run: ["sh", "create.sh"] },
  { language: "buf curl", probe: ["buf", "--version"], file: "buf.sh", run: ["sh", "buf.sh"] },
  {
    language: "TypeScript",
    probe: [process.execPath, "--version"],
    file: "create.ts",
    run: [process.execPath, "--conditions=connect-gateway-source", "create.ts"],
  },
  {
    language: "Python",
    probe: ["python3", "--version"],
    file: "create.py",
    run: ["python3", "create.py"],
  },
  { language: "Go", probe: ["go", "version"], file: "main.go", run: ["go", "run", "main.go"] },
  {
    language: "Java",
    probe: ["java", "--version"],
    file: "CreatePlant.java",
    run: ["java", "CreatePlant.java"],
  },
];

const hard = { id: "-9223372036854775808", name: `It's \`"#"\` \\u0041 $HOME 🌿`, tag: '##"' };
/** What a compiler may need on a busy machine; nothing here waits for time to pass. */
const timeout = 120_000;

describe("the snippet", { timeout }, () => {
  let folder: Awaited<ReturnType<typeof createTemporaryFolder>>;
  let server: ChildServer;
  let database: string;

  beforeAll(async () => {
    folder = await createTemporaryFolder();
    database = join(folder.path, "plants.db");
    const args = ["--base-path", "/api", "--store", `sqlite:${database}`];
    server = await spawnServer({ cwd: folder.path, args });
  }, timeout);

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  function run({ language, file, run: [command, ...args] }: Tool, id: string, token = knownToken) {
    const cwd = join(folder.path, language);
    mkdirSync(cwd, { recursive: true });
    const text = render(language, { base: `${server.url}/`, plant: { ...hard, id } })
      // The checkout in place of the package, and its buf in place of a download.
      .replace('"plant-store"', JSON.stringify(pathToFileURL("src/index.ts").href))
      .replace("npx @bufbuild/buf", "buf");
    writeFileSync(join(cwd, file), text);
    const env = { ...process.env, TOKEN: token, GO111MODULE: "off" };
    return spawnSync(command, args, { cwd, env, encoding: "utf8" });
  }

  for (const [index, tool] of tools.entries()) {
    const [command, ...args] = tool.probe;
    test.skipIf(spawnSync(command, args).status !== 0)(`for ${tool.language} creates it`, () => {
      const id = index === 0 ? hard.id : `${9007199254740993n + BigInt(index)}`;
      const { status, stdout, stderr }: SpawnSyncReturns<string> = run(tool, id);
      expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("🌿");
      expect(readStoredPlants(database)).toContainEqual(storedForm({ ...hard, id: BigInt(id) }));
    });
  }

  for (const tool of tools) {
    const [command, ...args] = tool.probe;
    test.skipIf(spawnSync(command, args).status !== 0)(
      `for ${tool.language} shows an error`,
      () => {
        const { stdout, stderr } = run(tool, "1", "unknown-token-0123");
        expect(stdout + stderr).toContain("unknown or revoked");
      },
    );
  }

  test.each(Object.keys(snippets))("for %s shows no control of direction", (language) => {
    const plant = { ...hard, name: "a\u202eb", tag: "\u2066" };
    expect(render(language, { base: "http://localhost/", plant })).not.toMatch(/[\u202e\u2066]/);
  });

  test("for Rust sends what the others send", () => {
    const plant = { ...hard, name: '"##"' };
    const text = render("Rust", { base: "http://localhost/", plant });
    const [, hashes, body = ""] = /\.send\(r(#+)"(.*)"\1\)/.exec(text) ?? [];
    expect(body).not.toContain(`"${hashes}`);
    expect(JSON.parse(body)).toEqual({ ...plant, id: Number(plant.id) });
  });
});
