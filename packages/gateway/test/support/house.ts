/** A layout: which folder ("room") may import which, without imports in the other direction. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

export interface House {
  /** A glob of its files, relative to the root of the repository. */
  readonly files: string;
  /** The room of a file. */
  readonly roomOf: (file: string) => string;
  /** From the bottom up: a room may import its own files and the listed rooms. */
  readonly rooms: Readonly<Record<string, readonly string[]>>;
}

/** Checks the imports against the layout. @returns the files that each file imports. */
export function holdHouse({ files, roomOf, rooms }: House): ReadonlyMap<string, readonly string[]> {
  const importsByFile = new Map(globSync(files).map((file) => [file, importsOf(file)] as const));

  test("every file is in a room", () => {
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
  return importsByFile;
}

/** The files that a file imports, relative to the root of the repository. */
export function importsOf(file: string): string[] {
  const specifiers = readFileSync(file, "utf8").matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g);
  return [...specifiers].map(([, specifier = ""]) => join(dirname(file), specifier));
}
