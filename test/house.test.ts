/** The plan of the house. Of the gateway, everyone uses what its package exports. */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { holdHouse, importsOf } from "../packages/gateway/test/support/house.ts";

const importsByFile = holdHouse({
  files: "src/**/*.ts",
  roomOf(file) {
    if (file.startsWith("gen/google/")) return "gen/google";
    const [top = "", second = ""] = file.split("/");
    return top === "src" ? second.replace(/\.ts$/, "") : top;
  },
  rooms: {
    gen: [],
    "gen/google": [],
    plant: [],
    auth: [],
    service: ["gen", "gen/google", "plant"],
    store: ["plant"],
    client: ["gen", "auth"],
    index: ["gen", "gen/google", "client"],
    server: ["gen", "gen/google", "plant", "service", "store", "auth"],
    transfer: ["gen", "gen/google", "plant", "auth"],
    cli: ["gen", "server", "client", "store", "auth", "transfer"],
  },
});

test.each([
  ["connect-gateway, any of its exports", /from "connect-gateway/, ["server", "transfer"]],
  ["the server of connect-gateway", /from "connect-gateway\/server"/, ["server"]],
])("%s is used only where it belongs", (_what, specifier, rooms) => {
  const users = [...importsByFile.keys()].filter((file) =>
    specifier.test(readFileSync(file, "utf8")),
  );
  expect([...new Set(users.map((file) => file.split("/")[1]))].sort()).toEqual(rooms);
});

test("of the package's files, tests import only what supports tests", () => {
  const inside = globSync("test/**/*.ts").flatMap((file) =>
    importsOf(file)
      .filter((imported) => /^packages\/(?!gateway\/test\/support\/)/.test(imported))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(inside).toEqual([]);
});

test("the client has nothing of Node in it, so that browsers can load it", () => {
  const seen = new Set<string>();
  const pending = ["src/index.ts"];
  for (const file of pending) {
    if (seen.has(file) || !file.startsWith("src/")) continue;
    seen.add(file);
    expect(readFileSync(file, "utf8")).not.toMatch(/from "node:|connect-node|connect-gateway/);
    pending.push(...(importsByFile.get(file) ?? []));
  }
  expect(seen.size).toBeGreaterThan(2);
});
