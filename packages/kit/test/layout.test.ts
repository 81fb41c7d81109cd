/** The layout of the kit. It may use only the exports of the gateway. */
import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { checkLayout, importsOf } from "../../gateway/test/support/layout.ts";

checkLayout({
  files: "packages/kit/src/**/*.ts",
  folderOf: (file) => file.split("/").slice(3, -1).join("/"),
  folders: {
    settings: [],
    reference: [],
    tracing: [],
    auth: ["settings"],
    logging: [],
    "rate-limit": ["auth"],
    command: ["settings", "auth"],
    program: ["settings", "auth", "logging", "rate-limit", "tracing", "command"],
  },
});

test("the package imports no file from outside, and its tests only tests of the gateway", () => {
  const leaving = globSync("packages/kit/{src,test}/**/*.ts").flatMap((file) =>
    importsOf(file)
      .filter((imported) => !imported.startsWith("packages/kit/"))
      .filter((imported) => !/^packages\/gateway\/test\//.test(imported))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(leaving).toEqual([]);
});
