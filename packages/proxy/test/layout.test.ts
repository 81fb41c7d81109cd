/** The layout of the command. It may use only the exports of the gateway and of the kit. */
import { globSync } from "node:fs";
import { expect, test } from "vitest";
import { checkLayout, importsOf } from "../../gateway/test/support/layout.ts";

checkLayout({
  files: "packages/proxy/src/**/*.ts",
  folderOf: (file) => file.split("/").slice(3, -1).join("/"),
  folders: { services: [], cli: ["services"] },
});

test("the package imports no file from outside, and its tests only tests of the others", () => {
  const leaving = globSync("packages/proxy/{src,test}/**/*.ts").flatMap((file) =>
    importsOf(file)
      .filter((imported) => !imported.startsWith("packages/proxy/"))
      .filter((imported) => !/^packages\/(gateway\/(test|src|gen)|kit\/test)\//.test(imported))
      .map((imported) => `${file} -> ${imported}`),
  );
  expect(leaving).toEqual([]);
});
