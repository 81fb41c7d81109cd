/** The snippets of the page run as they are shown, where the machine has what they need. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { type SpawnedServer, spawnServer } from "../support/child-server.ts";
import { readStoredPlants, storedForm } from "../support/stored-plants.ts";
import { knownToken } from "../support/test-server.ts";

type Shown = Readonly<{ base: string; plant: Record<"id" | "name" | "tag", string> }>;

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

const node = `"${process.execPath}" --conditions=connect-gateway-source`;

/** By language: a line that fails where the tool is missing, the file, and the line that runs it. */
const tools = [
  ["curl", "curl -V", "create.sh", "sh create.sh"],
  ["buf curl", "buf --version", "buf.sh", "sh buf.sh"],
  ["TypeScript", `${node} --version`, "create.ts", `${node} create.ts`],
  ["Python", "python3 --version", "create.py", "python3 create.py"],
  ["Go", "go version", "main.go", "go run main.go"],
  ["Java", "java --version", "CreatePlant.java", "java CreatePlant.java"],
] as const;

const hard = { id: "-9223372036854775808", name: `It's \`"#"\` \\u0041 $HOME 🌿`, tag: '##"' };
/** What a compiler may need on a busy machine; nothing here waits for time to pass. */
const timeout = 120_000;

describe("the snippet", { timeout }, () => {
  let server: SpawnedServer;

  beforeAll(async () => {
    server = await spawnServer({ args: ["--base-path", "/api"] });
    return () => server[Symbol.asyncDispose]();
  }, timeout);

  describe.each(tools.entries().toArray())("%#", (index, [language, probe, file, command]) => {
    const isMissing = spawnSync(probe, { shell: true }).status !== 0;

    function run(id: string, token: string) {
      const cwd = join(server.cwd, language);
      mkdirSync(cwd, { recursive: true });
      const text = render(language, { base: `${server.url}/`, plant: { ...hard, id } })
        // The checkout in place of the package, and its buf in place of a download.
        .replace('"plant-store"', JSON.stringify(pathToFileURL("src/index.ts").href))
        .replace("npx @bufbuild/buf", "buf");
      writeFileSync(join(cwd, file), text);
      const env = { ...process.env, TOKEN: token, GO111MODULE: "off" };
      return spawnSync(command, { cwd, env, encoding: "utf8", shell: true });
    }

    test.skipIf(isMissing)(`for ${language} creates it`, () => {
      const id = index === 0 ? hard.id : `${9007199254740993n + BigInt(index)}`;
      const { status, stdout, stderr } = run(id, knownToken);
      expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
      expect(stdout).toContain("🌿");
      const stored = readStoredPlants(server.database);
      expect(stored).toContainEqual(storedForm({ ...hard, id: BigInt(id) }));
    });

    test.skipIf(isMissing)(`for ${language} shows an error`, () => {
      const { stdout, stderr } = run("1", "unknown-token-0123");
      expect(stdout + stderr).toContain("unknown or revoked");
    });
  });

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
