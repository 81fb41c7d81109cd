/** The layout of plant-store. It may use only the exports of the gateway. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkLayout, importsOf } from "../packages/gateway/test/support/layout.ts";

const importsByFile = checkLayout({
  files: "src/**/*.ts",
  folderOf(file) {
    if (file.startsWith("gen/google/")) return "gen/google";
    const [top = "", second = ""] = file.split("/");
    return top === "src" ? second.replace(/\.ts$/, "") : top;
  },
  folders: {
    gen: [],
    "gen/google": [],
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

test.each([
  [
    "connect-gateway, any of its exports",
    /from "connect-gateway["/]/,
    ["index.ts", "server", "service.ts", "transfer"],
  ],
  ["connect-gateway-kit, any of its exports", /from "connect-gateway-kit/, ["cli", "server"]],
  ["connect-gateway-proxy", /from "connect-gateway-proxy/, []],
  ["the server of connect-gateway", /from "connect-gateway\/server"/, ["server"]],
])("%s is used only where it belongs", (_what, specifier, folders) => {
  const users = [...importsByFile.keys()].filter((file) =>
    specifier.test(readFileSync(file, "utf8")),
  );
  expect([...new Set(users.map((file) => file.split("/")[1]))].sort()).toEqual(folders);
});

test("tests import only the test support of the packages, and what installs and starts them", () => {
  const inside = globSync("test/**/*.ts").flatMap((file) =>
    importsOf(file)
      .filter((imported) =>
        /^packages\/(?!(gateway|kit)\/test\/(support|runtimes)\/)/.test(imported),
      )
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(inside).toEqual([]);
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
