import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { checkLayout, importsOf } from "./support/layout.ts";

const importsByFile = checkLayout({
  files: "packages/gateway/src/**/*.ts",
  folderOf: (file) =>
    file
      .split("/")
      .slice(2, -1)
      .slice(0, 2)
      .join("/")
      .replace(/^gen.*/, "gen"),
  folders: {
    gen: [],
    // index.ts, which users import.
    src: ["src/adapter", "src/call", "src/exchange", "src/json", "src/protocols", "src/rest"],
    "src/server": ["src/adapter", "src/rest", "src/call", "src/exchange"],
    "src/health": ["gen", "src/rest", "src/protocols", "src/call", "src/exchange"],
    "src/reflection": ["gen", "src/protocols", "src/call"],
    "src/otel": ["src/adapter"],
    "src/client": ["gen", "src/protocols", "src/call", "src/exchange", "src/binary"],
    "src/logging": ["src/adapter", "src/call", "src/exchange"],
    "src/metrics": ["src/server", "src/adapter", "src/call", "src/exchange"],
    "src/cli": [
      ...["gen", "src", "src/client", "src/proxy", "src/server", "src/health", "src/reflection"],
      ...["src/openapi", "src/logging", "src/metrics", "src/rest", "src/call"],
    ],
    "src/proxy": [
      ...["gen", "src/client", "src/adapter", "src/rest", "src/call", "src/exchange"],
      "src/logging",
    ],
    // A request goes from the adapter through rest or protocols to the call.
    "src/adapter": ["src/rest", "src/protocols", "src/json", "src/call", "src/exchange"],
    "src/rest": ["gen", "src/protocols", "src/json", "src/call", "src/exchange"],
    "src/openapi": ["gen", "src/rest", "src/json"],
    "src/protocols": ["src/json", "src/binary", "src/call", "src/exchange"],
    "src/json": ["src/binary", "src/call"],
    "src/binary": [],
    "src/call": ["gen", "src/exchange"],
    "src/exchange": [],
  },
});

test("only the folder otel imports OpenTelemetry, and only its API", () => {
  const needed = [...importsByFile.keys()].flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(/from "(@opentelemetry[^"]+)"/g)].map(
      ([, name]) => `${file.split("/")[3]} -> ${name}`,
    ),
  );
  expect(new Set(needed)).toEqual(new Set(["otel -> @opentelemetry/api"]));
});

test("the package and its tests import no file from outside the package", () => {
  const files = globSync("packages/gateway/{src,gen,test}/**/*.ts");
  expect(files.length).toBeGreaterThan(100);
  const leaving = files.flatMap((file) =>
    importsOf(file)
      .filter((imported) => !imported.startsWith("packages/gateway/"))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(leaving).toEqual([]);
});
