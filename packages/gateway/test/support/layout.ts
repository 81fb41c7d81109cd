/** A layout: which folder may import which, without imports in the other direction. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

export interface Layout {
  /** A glob of its files, relative to the root of the repository. */
  readonly files: string;
  /** The folder of a file. */
  readonly folderOf: (file: string) => string;
  /** From the bottom up: a folder may import its own files and the listed folders. */
  readonly folders: Readonly<Record<string, readonly string[]>>;
}

/** Checks the imports against the layout. @returns the files that each file imports. */
export function checkLayout({
  files,
  folderOf,
  folders,
}: Layout): ReadonlyMap<string, readonly string[]> {
  const importsByFile = new Map(globSync(files).map((file) => [file, importsOf(file)] as const));

  test("every file is in a known folder", () => {
    expect(importsByFile.size).toBeGreaterThan(10);
    expect(
      [...importsByFile.keys()].map(folderOf).filter((folder) => !(folder in folders)),
    ).toEqual([]);
  });

  test.each(Object.keys(folders))("%s imports only the folders that it may import", (folder) => {
    const allowed = new Set([folder, ...(folders[folder] ?? [])]);
    const forbidden = [...importsByFile]
      .filter(([file]) => folderOf(file) === folder)
      .flatMap(([file, imports]) =>
        imports
          .filter((imported) => !allowed.has(folderOf(imported)))
          .map((imported) => `${file} -> ${imported}`),
      );
    expect(forbidden).toEqual([]);
  });

  test("no import cycles", () => {
    const done = new Set<string>();
    function visit(file: string, path: readonly string[]): void {
      if (path.includes(file)) throw new Error([...path, file].join(" -> "));
      if (done.has(file)) return;
      for (const imported of importsByFile.get(file) ?? []) visit(imported, [...path, file]);
      done.add(file);
    }
    for (const file of importsByFile.keys()) visit(file, []);
  });
  return importsByFile;
}

/** The files that a file imports, relative to the root of the repository. */
export function importsOf(file: string): string[] {
  const specifiers = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => join(dirname(file), specifier));
}
