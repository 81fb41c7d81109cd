/** What people get who install connect-gateway without the plant store, and follow its README and docs. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { beforeAll, expect, test } from "vitest";
import { createCertificate } from "../packages/gateway/test/support/certificate.ts";
import { exchange } from "../packages/gateway/test/support/exchange.ts";
import { findFreePort } from "../packages/gateway/test/support/free-port.ts";
import { openModern } from "../packages/gateway/test/support/mcp-client.ts";
import { createTemporaryFolder } from "../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../packages/gateway/test/support/within.ts";
import { copyProtos } from "../scripts/bundle.ts";
import { collectOutput } from "./support/output.ts";
import { findShownFiles } from "./support/shown-files.ts";
import { useOpened } from "./support/use-test-server.ts";

const run = promisify(execFile);
const source = "packages/gateway";
/** Without the condition that names the source of connect-gateway. */
const { NODE_OPTIONS: _, ...outside } = process.env;
const env = { ...outside, PATH: `${resolve("node_modules/.bin")}${delimiter}${outside["PATH"]}` };

/** The programs of fetch.md run in their own runtimes: test:runtimes. */
const docs = (await readdir(join(source, "docs"))).filter((name) => name !== "fetch.md");
const pages = await Promise.all(
  ["../README.md", ...docs].map((page) => readFile(join(source, "docs", page), "utf8")),
);
const shown = pages.flatMap(findShownFiles);
const sources = shown.map(({ path }) => path).filter((path) => path.endsWith(".ts"));
const programs = sources.filter((path) => path.startsWith("server"));
const installed = useOpened(createTemporaryFolder);
let folder: string;

/** Packs a build of its own: others build in the checkout at the same time. */
async function pack(): Promise<string> {
  const home = join(folder, "source");
  for (const name of ["package.json", "LICENSE", "README.md", "docs", "src", "gen"]) {
    await cp(join(source, name), join(home, name), { recursive: true });
  }
  const project = join(source, "tsconfig.build.json");
  await run("tsc", ["--project", project, "--outDir", join(home, "dist")], { env });
  copyProtos(join(home, "dist"));
  await run("npm", ["pack", home, "--silent", "--pack-destination", folder], { env });
  return (await readdir(folder)).find((name) => name.endsWith(".tgz")) ?? "";
}

beforeAll(async () => {
  folder = installed.path;
  const tarball = await pack();
  await writeFile(join(folder, "package.json"), '{ "private": true, "type": "module" }');
  const quietly = ["--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund", "--silent"];
  await run("npm", ["install", ...quietly, `./${tarball}`], { cwd: folder, env });
});

test("brings its peers and nothing else, in less than 8 MB", async () => {
  const lock = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const paths = Object.keys(lock.packages).filter((path) => path !== "");
  expect(paths.map((path) => path.replace("node_modules/", ""))).toEqual([
    "@bufbuild/protobuf",
    "@connectrpc/connect",
    "@connectrpc/connect-node",
    "connect-gateway",
  ]);
  const files = await readdir(join(folder, "node_modules"), { recursive: true });
  const sizes = files.map(async (file) => (await stat(join(folder, "node_modules", file))).size);
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  expect(bytes).toBeLessThan(8e6);
});

/** The size of a program, bundled for fetch, minified and gzipped, in bytes. */
async function bundledBytes(program: string): Promise<number> {
  const input = join(folder, "bundled.js");
  await writeFile(input, program);
  await using build = await rolldown({ input, platform: "browser" });
  const { output } = await build.generate({ minify: true });
  expect(output[0].imports).toEqual([]);
  return gzipSync(output[0].code).length;
}

test("adds little to a bundle for fetch", async () => {
  const router = `import { createConnectRouter } from "@connectrpc/connect";
    import { createFetchHandler } from "@connectrpc/connect/protocol";
    const [handler] = createConnectRouter().service({ methods: [] }, {}).handlers;
    export const serve = createFetchHandler(handler);`;
  const gateway = `import { gatewayFetchHandler } from "connect-gateway/fetch";
    export const serve = gatewayFetchHandler({ routes: (router) => router });`;
  const renderer = 'export { renderProblem } from "connect-gateway/fetch";';
  const log = 'export { createAccessLog } from "connect-gateway/logging";';
  expect(await bundledBytes(renderer)).toBeLessThan(1000);
  expect(await bundledBytes(log)).toBeLessThan(20_000);
  expect((await bundledBytes(gateway)) - (await bundledBytes(router))).toBeLessThan(24_500);
});

test("what its README and docs show compiles, strictly, and with the types of libraries", async () => {
  expect(sources).toHaveLength(pages.join("\n").match(/^```ts$/gm)?.length ?? 0);
  for (const { path, text } of shown) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  // What the pages have developers install, as it is here.
  const tools = ["@types", "undici-types", "@opentelemetry", "@connectrpc/validate", "fastify"];
  for (const name of tools) {
    await rm(join(folder, "node_modules", name), { recursive: true, force: true });
    await symlink(resolve("node_modules", name), join(folder, "node_modules", name));
  }
  await run("buf", ["generate"], { cwd: folder, env });
  const own = `declare global { interface Headers { getAll(name: string): string[] } } // as on Bun
    export const target = (await import("connect-gateway")).parseRequestTarget("/");
    export const document = (await import("connect-gateway/openapi")).createOpenApiDocument([]);`;
  await writeFile(join(folder, "own.ts"), own);
  const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false"];
  const node = ["--module", "nodenext", "--target", "es2024", "--types", "node"];
  const options = ["--noEmit", "--declaration", "--ignoreConfig", "--allowImportingTsExtensions"];
  await run("tsc", [...options, ...strict, ...node, "own.ts", ...sources], { cwd: folder, env });
});

test("its page on tests shows tests that pass, and CommonJS can load it", async () => {
  const load = "require('connect-gateway'); require('connect-gateway/fetch')";
  await run(process.execPath, ["--input-type=commonjs", "--eval", load], { cwd: folder, env });
  const { stdout } = await run(process.execPath, ["--test", "books.test.ts"], { cwd: folder, env });
  expect(stdout).toMatch(/pass 3\n/);
});

test.each(programs)("%s of its README and docs serves", async (program) => {
  const port = await findFreePort();
  const { text = "" } = shown.find(({ path }) => path === program) ?? {};
  await writeFile(join(folder, program), text.replaceAll(/\b(8080|8443)\b/g, String(port)));
  const certificate = program.includes("tls") ? createCertificate(folder, "server") : undefined;
  const server = spawn(process.execPath, [program], {
    ...{ cwd: folder, env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  await collectOutput(server.stdout).until(/listening on port/);
  const answer = await exchange({
    origin: `${certificate ? "https" : "http"}://127.0.0.1:${port}`,
    version: "1.1",
    method: "GET",
    path: "/v1/books/9007199254740993",
    ...(certificate && { ca: certificate.pem }),
  });
  expect(answer.body.toString()).toBe('{"id":"9007199254740993","title":"Dune"}');
  if (program.includes("mcp")) {
    await using client = await openModern(`http://127.0.0.1:${port}/mcp`);
    const { structuredContent } = await client.call("get_book", { id: "9007199254740993" });
    expect(structuredContent).toEqual({ id: "9007199254740993", title: "Dune" });
  }
  server.kill("SIGTERM");
  await within("its end", ended);
});
