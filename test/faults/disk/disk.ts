/**
 * The possible contents of a disk after a power failure, in the worst case allowed by POSIX and
 * Linux's page cache. Unsynced changes may be there or not, page by page, and a page may be torn
 * between two sectors. A name may be there or not until its directory was synced, and so may a new
 * size. After a failed sync, what it should have written stays uncertain, whatever a later sync
 * reports, until it is rewritten.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { acknowledgedName, type Call } from "./call-log.ts";

export const pageBytes = 4096;

/**
 * What is below a directory, without uncertainty: the contents of files by path, and `folder`. A
 * directory comes before what it holds.
 */
export type Tree = ReadonlyMap<string, Buffer | "folder">;

/** Writes a tree to a new directory. */
export async function materialise(tree: Tree, root: string): Promise<void> {
  await mkdir(root, { recursive: true });
  for (const [path, content] of tree) {
    if (content === "folder") await mkdir(join(root, path));
    else await writeFile(join(root, path), content);
  }
}

/** The path of the directory; empty for the root. */
export function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf("/")));
}

/** Linux's O_CREAT and O_TRUNC. */
const flags = { create: 0o100, truncate: 0o1000 } as const;

/** The possible versions: first the durable one, last the one that the running system sees. */
export class Versions<T> {
  all: readonly T[];
  /** Whether the next sync writes it. */
  #isDirty = false;

  constructor(safe: T) {
    this.all = [safe];
  }

  get last(): T {
    return this.all.at(-1) as T;
  }

  push(version: T): void {
    this.all = [...this.all, version];
    this.#isDirty = true;
  }

  sync(isDone: boolean): void {
    if (this.#isDirty && isDone) this.all = [this.last];
    this.#isDirty = false;
  }
}

export class DiskFile {
  readonly pages = new Map<number, Versions<Buffer>>();
  readonly size = new Versions(0);
  /** The pages of the last call that wrote to it. */
  lastPages: readonly number[] = [];

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.write(0, content);
    this.sync(true);
  }

  write(offset: number, data: Buffer): void {
    const end = offset + data.byteLength;
    this.lastPages = [];
    for (let page = Math.floor(offset / pageBytes); page * pageBytes < end; page++) {
      this.#change(page, (bytes) => {
        const from = Math.max(page * pageBytes, offset);
        data.copy(bytes, from - page * pageBytes, from - offset);
      });
    }
    if (end > this.size.last) this.size.push(end);
  }

  truncate(size: number): void {
    this.lastPages = [];
    const pages = [...this.pages.keys()].filter((page) => (page + 1) * pageBytes > size);
    for (const page of pages) {
      this.#change(page, (bytes) => bytes.fill(0, Math.max(size - page * pageBytes, 0)));
    }
    this.size.push(size);
  }

  sync(isDone: boolean): void {
    for (const versions of [this.size, ...this.pages.values()]) versions.sync(isDone);
  }

  #change(page: number, edit: (bytes: Buffer) => void): void {
    const versions = this.pages.get(page) ?? new Versions(Buffer.alloc(pageBytes));
    this.pages.set(page, versions);
    const bytes = Buffer.from(versions.last);
    edit(bytes);
    versions.push(bytes);
    this.lastPages = [...this.lastPages, page];
  }
}

export type DiskEntry = DiskFile | "folder" | undefined;

/** The directory of a recording, updated call by call. */
export class Disk {
  /** By path below the root. A directory comes before what it holds. */
  readonly entries = new Map<string, Versions<DiskEntry>>();
  /** The last file that was written to. */
  lastFile: DiskFile | undefined;
  readonly #root: string;

  /** @param before The durable content of the directory before the first call. */
  constructor(root: string, before: Tree) {
    this.#root = root;
    for (const [path, content] of before) {
      const entry = content === "folder" ? content : new DiskFile(content);
      this.entries.set(path, new Versions<DiskEntry>(entry));
    }
  }

  /** Ignores the acknowledgements, and the wal-index, which is memory. */
  apply({ kind, path: absolute, result, number, data }: Call): void {
    if (absolute.endsWith(`/${acknowledgedName}`) || absolute.endsWith("-shm")) return;
    const path = absolute.slice(this.#root.length + 1);
    const entry = this.entries.get(path)?.last;
    if (kind === "sync" && entry instanceof DiskFile) entry.sync(result === 0);
    if (result < 0) return;
    switch (kind) {
      case "sync":
        if (entry instanceof DiskFile) break;
        for (const [below, versions] of this.entries) {
          if (folderOf(below) === path) versions.sync(true);
        }
        break;
      case "open":
        if (number & flags.create && entry === undefined) this.#set(path, new DiskFile());
        if (number & flags.truncate) this.#file(path).truncate(0);
        break;
      case "write":
        this.lastFile = this.#file(path);
        this.lastFile.write(number, data);
        break;
      case "truncate":
        this.#file(path).truncate(number);
        break;
      case "unlink":
        this.#set(path, undefined);
        break;
      case "mkdir":
        this.#set(path, "folder");
        break;
      case "rename":
        throw new Error(`${path} was renamed, which the simulated disk does not know`);
    }
  }

  #file(path: string): DiskFile {
    const file = this.entries.get(path)?.last;
    if (file instanceof DiskFile) return file;
    throw new Error(`${path} was written to, and is no file of the simulated disk`);
  }

  #set(path: string, entry: DiskEntry): void {
    const folder = folderOf(path);
    if (folder !== "" && this.entries.get(folder)?.last !== "folder") {
      throw new Error(`${path} has no folder on the simulated disk`);
    }
    const versions = this.entries.get(path) ?? new Versions<DiskEntry>(undefined);
    versions.push(entry);
    this.entries.set(path, versions);
  }
}
