/** The layouts of plant-store, of the kit and of the proxy. Each may use only the exports of the others. */
import { globSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkLayout, importsOf } from "../packages/gateway/test/support/layout.ts";

const importsByFile = checkLayout({
  files: "src/**/*.ts",
  folderOf(file) {
    const [top = "", second = ""] = file.split("/");
    return top === "src" ? second.replace(/\.ts$/, "") : top;
  },
  folders: {
    gen: [],
    plant: [],
    service: ["gen", "plant"],
    backoff: [],
    store: ["plant", "backoff"],
    client: ["gen", "client-token"],
    "client-token": [],
    index: ["gen", "client"],
    server: ["gen", "plant", "service", "store"],
    transfer: ["gen", "plant", "backoff"],
    cli: ["gen", "server", "client", "client-token", "store", "transfer"],
  },
});

/** The folder in the source of a package. */
const inSource = (file: string) => file.split("/").slice(3, -1).join("/");

describe("the kit", () => {
  checkLayout({
    files: "packages/kit/src/**/*.ts",
    folderOf: inSource,
    folders: {
      settings: [],
      reference: [],
      files: [],
      tracing: [],
      auth: ["settings", "files"],
      logging: [],
      "rate-limit": ["auth"],
      command: ["settings", "auth"],
      program: ["settings", "auth", "logging", "rate-limit", "tracing", "command"],
    },
  });
});

describe("the proxy", () => {
  const folders = { services: [], cli: ["services"] };
  checkLayout({ files: "packages/proxy/src/**/*.ts", folderOf: inSource, folders });
});

test("our packages are imported by their names, and only where they belong", () => {
  const found = new Map<string, Set<string>>();
  for (const file of globSync("{src,packages/*/src}/**/*.{ts,js}")) {
    const [top = "", ...path] = file.split("/");
    const room =
      top === "src" ? `src/${path[0]}` : path.slice(0, path[0] === "proxy" ? 3 : 1).join("/");
    for (const [, name = ""] of readFileSync(file, "utf8").matchAll(named)) {
      found.set(room, (found.get(room) ?? new Set()).add(name));
    }
  }
  expect(Object.fromEntries([...found].map(([room, names]) => [room, [...names].sort()]))).toEqual({
    kit: ["connect-gateway"],
    "proxy/src/cli": ["connect-gateway", "connect-gateway-kit"],
    // What the package exports. Users of the kit are bundles.
    "proxy/src/services": ["connect-gateway"],
    "src/cli": ["connect-gateway-kit"],
    "src/index.ts": ["connect-gateway"],
    "src/server": ["connect-gateway", "connect-gateway-kit"],
    "src/service.ts": ["connect-gateway"],
    // How a file is created for its owner, and synced.
    "src/store": ["connect-gateway-kit"],
    "src/transfer": ["connect-gateway"],
  });
});

const named = /(?:from|import)\s*\(?"(connect-gateway[\w-]*)/g;

test.each([
  ["test/**/*.ts", /^(?!packages\/)|^packages\/(gateway|kit)\/test\/(support|runtimes)\//],
  ["packages/kit/src/**/*.ts", /^packages\/kit\//],
  ["packages/kit/test/**/*.ts", /^packages\/(kit\/|gateway\/test\/)/],
  ["packages/proxy/src/**/*.ts", /^packages\/proxy\//],
  ["packages/proxy/test/**/*.ts", /^packages\/(proxy\/|gateway\/(test|src|gen)\/|kit\/test\/)/],
])("files of %s import by path only what matches %s", (files, allowed) => {
  const outside = globSync(files).flatMap((file) =>
    importsOf(file)
      .filter((imported) => !allowed.test(imported))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(outside).toEqual([]);
});

test("the client imports nothing of Node, so that browsers can load it", () => {
  const seen = new Set<string>();
  const pending = ["src/index.ts"];
  for (const file of pending) {
    if (seen.has(file) || !file.startsWith("src/")) continue;
    seen.add(file);
    expect(readFileSync(file, "utf8")).not.toMatch(
      /from "node:|connect-node|connect-gateway(?!\/protos")/,
    );
    pending.push(...(importsByFile.get(file) ?? []));
  }
  expect(seen.size).toBeGreaterThan(2);
});
