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
    // index.ts and its siblings, which users import.
    src: ["gen", "src/adapter", "src/http", "src/codec", "src/errors", "src/rpc", "src/rest"],
    "src/server": ["src/adapter", "src/errors", "src/rpc", "src/http"],
    "src/health": ["gen", "src/errors", "src/rpc", "src/http"],
    "src/reflection": ["gen", "src/rpc"],
    "src/otel": ["src/adapter", "src/rpc"],
    "src/client": ["gen", "src/rpc", "src/http", "src/codec"],
    "src/logging": ["gen", "src/adapter", "src/server", "src/rpc", "src/codec", "src/http"],
    "src/metrics": ["src/server", "src/adapter", "src/rpc", "src/http"],
    // A request goes from the adapter through rest or rpc to the call.
    "src/mcp": [
      ...["gen", "src/adapter", "src/openapi", "src/rest", "src/rpc", "src/errors", "src/codec"],
      "src/http",
    ],
    "src/adapter": ["src/rest", "src/rpc", "src/errors", "src/codec", "src/http"],
    "src/rest": ["gen", "src/rpc", "src/errors", "src/codec", "src/http"],
    "src/openapi": ["gen", "src/rest", "src/rpc", "src/errors", "src/codec"],
    "src/rpc": ["gen", "src/errors", "src/codec", "src/http"],
    "src/errors": ["gen", "src/codec", "src/http"],
    "src/codec": ["gen", "src/http"],
    "src/http": ["gen"],
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
