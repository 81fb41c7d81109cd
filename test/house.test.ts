/** The plan of the house: which room may import which, and that nothing points back. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";

/** Rooms, from the ground up: a room may import its own files and the rooms named. */
const rooms: Record<string, readonly string[]> = {
  gen: [],
  "gen/google": [],
  plant: [],
  auth: [],
  service: ["gen", "gen/google", "plant"],
  store: ["plant"],
  gateway: [
    ...["gateway/adapter", "gateway/call", "gateway/exchange", "gateway/json", "gateway/openapi"],
    ...["gateway/protocols", "gateway/rest"],
  ],
  "gateway/server": ["gateway/adapter", "gateway/rest", "gateway/call", "gateway/exchange"],
  "gateway/health": ["gen", "gateway/rest", "gateway/call", "gateway/exchange"],
  "gateway/reflection": ["gen", "gateway/call"],
  "gateway/otel": ["gateway/adapter"],
  // The way of a request goes from the adapter by rest or protocols to the call.
  "gateway/adapter": [
    ...["gateway/rest", "gateway/protocols", "gateway/json", "gateway/call", "gateway/exchange"],
  ],
  "gateway/rest": [
    ...["gen/google", "gateway/protocols", "gateway/json", "gateway/call", "gateway/exchange"],
  ],
  "gateway/openapi": ["gen/google", "gateway/rest", "gateway/json"],
  "gateway/protocols": ["gateway/json", "gateway/binary", "gateway/call", "gateway/exchange"],
  "gateway/json": ["gateway/binary", "gateway/call"],
  "gateway/binary": [],
  "gateway/call": ["gen/google", "gateway/exchange"],
  "gateway/exchange": [],
  client: ["gen", "auth"],
  index: ["gen", "gen/google", "client"],
  server: [
    ...["gen", "gen/google", "plant", "service", "store", "auth"],
    ...["gateway", "gateway/server", "gateway/health", "gateway/reflection", "gateway/otel"],
  ],
  transfer: ["gen", "gen/google", "plant", "gateway", "auth"],
  cli: ["gen", "server", "client", "store", "auth", "transfer"],
};

const importsByFile = new Map(
  globSync("src/**/*.ts").map((file) => [file, importsOf(file)] as const),
);

function importsOf(file: string): string[] {
  const specifiers = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => join(dirname(file), specifier));
}

function roomOf(file: string): string {
  if (file.startsWith("gen/google/")) return "gen/google";
  const [top = "", second = "", third = ""] = file.split("/");
  if (second === "gateway" && third !== "index.ts") return `${second}/${third}`;
  return top === "src" ? second.replace(/\.ts$/, "") : top;
}

describe("imports", () => {
  test("every file of src stands in a room", () => {
    expect(importsByFile.size).toBeGreaterThan(30);
    expect([...importsByFile.keys()].map(roomOf).filter((room) => !(room in rooms))).toEqual([]);
  });

  test.each(Object.keys(rooms))("%s imports only the rooms beneath it", (room) => {
    const allowed = new Set([room, ...(rooms[room] ?? [])]);
    const forbidden = [...importsByFile]
      .filter(([file]) => roomOf(file) === room)
      .flatMap(([file, imports]) =>
        imports
          .filter((imported) => !allowed.has(roomOf(imported)))
          .map((imported) => `${file} -> ${imported}`),
      );
    expect(forbidden).toEqual([]);
  });

  test("only one room of the gateway needs OpenTelemetry, and of that the API alone", () => {
    const needed = globSync("src/gateway/**/*.ts").flatMap((file) =>
      [...readFileSync(file, "utf8").matchAll(/from "(@opentelemetry[^"]+)"/g)].map(
        ([, name]) => `${roomOf(file)} -> ${name}`,
      ),
    );
    expect(new Set(needed)).toEqual(new Set(["gateway/otel -> @opentelemetry/api"]));
  });

  test("no file imports itself, directly or through others", () => {
    const done = new Set<string>();
    function visit(file: string, path: readonly string[]): void {
      if (path.includes(file)) throw new Error([...path, file].join(" -> "));
      if (done.has(file)) return;
      for (const imported of importsByFile.get(file) ?? []) visit(imported, [...path, file]);
      done.add(file);
    }
    for (const file of importsByFile.keys()) visit(file, []);
  });

  test("the client has nothing of Node in it, so that browsers can load it", () => {
    const seen = new Set<string>();
    const pending = ["src/index.ts"];
    for (const file of pending) {
      if (seen.has(file) || !file.startsWith("src/")) continue;
      seen.add(file);
      expect(readFileSync(file, "utf8")).not.toMatch(/from "node:|connect-node/);
      pending.push(...(importsByFile.get(file) ?? []));
    }
    expect(seen.size).toBeGreaterThan(2);
  });
});
