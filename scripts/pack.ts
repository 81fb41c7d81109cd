/** Builds and packs what is published: `npm run pack -- [FOLDER]`. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The condition of the exports that are TypeScript: a checkout runs them, and no package has them. */
const sourceCondition = "connect-gateway-source";

type Exports = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

execFileSync(process.execPath, ["scripts/build.ts"], { stdio: "inherit" });
const folder = process.argv[2] ?? ".";
const temporary = mkdtempSync(join(tmpdir(), "plant-store-pack-"));
try {
  const homes = [".", "packages/gateway", "packages/proxy"].map((source) => {
    const home = join(temporary, source === "." ? "plant-store" : source);
    const manifest = JSON.parse(readFileSync(join(source, "package.json"), "utf8"));
    mkdirSync(home, { recursive: true });
    for (const name of ["README.md", "LICENSE", ...manifest.files]) {
      cpSync(join(source, name), join(home, name), { recursive: true });
    }
    const published = { ...manifest, exports: publishedExports(manifest.exports) };
    writeFileSync(join(home, "package.json"), `${JSON.stringify(published, null, 2)}\n`);
    return home;
  });
  execFileSync("npm", ["pack", ...homes, "--pack-destination", folder], { stdio: "inherit" });
} finally {
  rmSync(temporary, { recursive: true });
}

function publishedExports(exports: Exports): Exports {
  const published = Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === "string") return [[path, target]];
    const { [sourceCondition]: _, ...others } = target;
    return Object.keys(others).length === 0 ? [] : [[path, others]];
  });
  return Object.fromEntries(published);
}
