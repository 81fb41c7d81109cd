/** Bundles a program with all that it imports: 36 files instead of 440. */
import { cpSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";

/** What is run or loaded by URL, by the folder of its package. */
export const programs = {
  ".": ["src/cli/main", "src/store/sqlite/worker"],
  "packages/proxy": ["src/cli/main"],
} as const;

/** What the programs read when they run. */
export function copyAssets(folder: string): void {
  for (const file of globSync("src/**/*.{sql,html,css,js,svg}")) cpSync(file, join(folder, file));
  for (const name of ["openapi.json", "plantstore.binpb"])
    cpSync(join("gen", name), join(folder, "gen", name));
}

/** The protos of Google that those of users import, for their compilers. */
export function copyProtos(folder: string): void {
  for (const name of ["annotations", "field_behavior", "http", "httpbody"]) {
    const file = `google/api/${name}.proto`;
    cpSync(join("node_modules/google-proto-files", file), join(folder, "proto", file));
  }
}

/**
 * @param root The folder of a package.
 * @param folder Where the bundles are written.
 * @param entries Files that are run or loaded by URL, each bundled by itself: the SQLite thread needs little of the
 * shared code. Each keeps its path, so that `import.meta.url` finds it.
 * @returns The files of others' packages that are part of the bundles.
 */
export async function bundleProgram(
  root: string,
  folder: string,
  entries: readonly string[],
): Promise<ReadonlySet<string>> {
  const modules = new Set<string>();
  for (const entry of entries) {
    const chunks = await bundle(root, folder, entry);
    for (const id of chunks.flatMap(({ moduleIds }) => moduleIds)) modules.add(id);
  }
  return new Set([...modules].filter((id) => id.includes("/node_modules/")));
}

async function bundle(root: string, folder: string, name: string): Promise<readonly OutputChunk[]> {
  await using build = await rolldown({
    input: { [name]: join(root, `${name}.ts`) },
    platform: "node",
    resolve: { conditionNames: ["connect-gateway-source", "node"] },
    // That of tsconfig.json. Node 22 does not know `using`.
    transform: { target: "es2024" },
    // Optional in pg.
    external: ["pg-native"],
    plugins: [nodeModules, urlsOf(root)],
  });
  const { output } = await build.generate({
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "src/chunks/[name].js",
    codeSplitting: { groups: [{ name: "shared", minShareCount: 3 }] },
    // Those about licenses are in licenses.txt.
    comments: false,
  });
  const chunks = output.filter((file) => file.type === "chunk");
  for (const { fileName, code } of chunks) {
    const file = join(folder, fileName);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, escapeUnicode(code));
  }
  return chunks;
}

/**
 * V8 keeps the source in memory. One character outside Latin-1 makes it take two bytes for each: 3 MiB more.
 * Such characters are in literals only.
 */
function escapeUnicode(code: string): string {
  const toEscape = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replaceAll(/[^\0-\x7f]/g, toEscape);
}

/**
 * An `import` of a module of Node reads all of its exports. One of node:http loads undici, which takes 50 ms and
 * 15 MiB (nodejs/node#59686).
 */
const nodeModules: Plugin = {
  name: "node-modules",
  resolveId(id, importer, { kind }) {
    if (!isBuiltin(id) || kind !== "import-statement") return null;
    // main.ts must load on a Node that is too old, to report it. Rolldown's own code loads first.
    const isFirst = importer?.endsWith("src/cli/main.ts") || importer?.startsWith("\0");
    return isFirst ? null : `\0${id}`;
  },
  load(id) {
    const name = id.slice(1);
    if (!id.startsWith("\0") || !isBuiltin(name)) return null;
    const exported = Object.keys(process.getBuiltinModule(name) ?? {}).filter((key) =>
      /^(?!default$)[\w$]+$/.test(key),
    );
    const code = [
      `const all = process.getBuiltinModule("${name}");`,
      "const get = (key) => all[key];",
      "export default all;",
      ...exported.map((key, n) => `const v${n} = /* @__PURE__ */ get("${key}");`),
      `export { ${exported.map((key, n) => `v${n} as ${key}`).join(", ")} };`,
    ];
    return { code: code.join("\n"), moduleSideEffects: false };
  },
};

/** Keeps `import.meta.url` that of the file that tsc would emit. The build copies assets beside it. */
const urlsOf = (root: string): Plugin => ({
  name: "urls",
  transform(code, id) {
    if (id.includes("/node_modules/") || id.startsWith("\0")) return null;
    const file = relative(root, id).replace(/\.ts$/, ".js");
    // What a module loads when it is called is bundled too, and still runs only then.
    const called = code.replaceAll("createRequire(import.meta.url)(", "require(");
    return called.replaceAll("import.meta.url", `new URL("<dist>/${file}", import.meta.url).href`);
  },
  renderChunk: (code, { fileName }) => code.replaceAll("<dist>", relative(dirname(fileName), ".")),
});
