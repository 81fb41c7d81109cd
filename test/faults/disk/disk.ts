/**
 * The possible contents of a disk after a power failure, in the worst case allowed by POSIX and
 * Linux's page cache. Unsynced changes may be there or not, page by page, and a page may be torn
 * between two sectors. A name may be there or not until its directory was synced, and so may a new
 * size. After a failed sync, what it should have written stays uncertain, whatever a later sync
 * reports, until it is rewritten.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Call } from "./call-log.ts";

export const pageBytes = 4096;

/** A directory without uncertainty: files and directories by name. */
export type Tree = ReadonlyMap<string, Buffer | Tree>;

/** Writes a tree to a new directory. */
export async function materialise(tree: Tree, path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  for (const [name, entry] of tree) {
    const below = join(path, name);
    if (Buffer.isBuffer(entry)) await writeFile(below, entry);
    else await materialise(entry, below);
  }
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
    if (!this.#isDirty) return;
    this.#isDirty = false;
    if (isDone) this.all = [this.last];
  }
}

export class DiskFile {
  readonly pages = new Map<number, Versions<Buffer>>();
  readonly size: Versions<number>;
  /** The pages of the last call that wrote to it. */
  lastPages: readonly number[] = [];
  /** What a sync may have to write. */
  readonly #touched = new Set<Versions<unknown>>();

  constructor(content: Buffer = Buffer.alloc(0)) {
    this.size = new Versions(content.byteLength);
    for (let page = 0; page * pageBytes < content.byteLength; page++) {
      const bytes = Buffer.alloc(pageBytes);
      content.copy(bytes, 0, page * pageBytes);
      this.pages.set(page, new Versions(bytes));
    }
  }

  /** The content as the running system sees it. */
  content(): Buffer {
    const content = Buffer.alloc(this.size.last);
    for (const [page, { last }] of this.pages) {
      if (page * pageBytes < content.byteLength) last.copy(content, page * pageBytes);
    }
    return content;
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
    if (end > this.size.last) this.#resize(end);
  }

  truncate(size: number): void {
    this.lastPages = [];
    const pages = [...this.pages.keys()].filter((page) => (page + 1) * pageBytes > size);
    for (const page of pages) {
      this.#change(page, (bytes) => bytes.fill(0, Math.max(size - page * pageBytes, 0)));
    }
    this.#resize(size);
  }

  sync(isDone: boolean): void {
    for (const versions of this.#touched) versions.sync(isDone);
    this.#touched.clear();
  }

  #change(page: number, edit: (bytes: Buffer) => void): void {
    const versions = this.pages.get(page) ?? new Versions(Buffer.alloc(pageBytes));
    this.pages.set(page, versions);
    const bytes = Buffer.from(versions.last);
    edit(bytes);
    versions.push(bytes);
    this.#touched.add(versions);
    this.lastPages = [...this.lastPages, page];
  }

  #resize(size: number): void {
    this.size.push(size);
    this.#touched.add(this.size);
  }
}

export type DiskEntry = DiskFile | DiskFolder | undefined;

export class DiskFolder {
  readonly entries = new Map<string, Versions<DiskEntry>>();

  constructor(tree: Tree = new Map()) {
    for (const [name, entry] of tree) {
      const held = Buffer.isBuffer(entry) ? new DiskFile(entry) : new DiskFolder(entry);
      this.entries.set(name, new Versions<DiskEntry>(held));
    }
  }

  get(name: string): DiskEntry {
    return this.entries.get(name)?.last;
  }

  set(name: string, entry: DiskEntry): void {
    const versions = this.entries.get(name);
    if (versions !== undefined) versions.push(entry);
    else {
      const created = new Versions<DiskEntry>(undefined);
      created.push(entry);
      this.entries.set(name, created);
    }
  }

  sync(): void {
    for (const versions of this.entries.values()) versions.sync(true);
  }
}

/** The directory of a recording, updated call by call. */
export class Disk {
  readonly root: DiskFolder;
  /** The last file that was written to. */
  lastFile: DiskFile | undefined;
  readonly #rootPath: string;

  /** @param before The durable content of the directory before the first call. */
  constructor(rootPath: string, before: Tree) {
    this.#rootPath = rootPath;
    this.root = new DiskFolder(before);
  }

  apply(call: Call): void {
    const { kind, path, result, number, data } = call;
    if (kind === "start" || kind === "close" || kind === "map") return;
    if (kind === "sync") {
      const entry = this.#find(path);
      if (entry instanceof DiskFile) entry.sync(result === 0);
      else if (result === 0) entry?.sync();
      return;
    }
    if (result < 0) return;
    switch (kind) {
      case "open":
        if (number & flags.create && this.#find(path) === undefined) {
          this.#create(path, new DiskFile());
        }
        if (number & flags.truncate) this.#file(path).truncate(0);
        break;
      case "write":
        this.#file(path).write(number, data);
        this.lastFile = this.#file(path);
        break;
      case "truncate":
        this.#file(path).truncate(number);
        break;
      case "unlink":
        this.#create(path, undefined);
        break;
      case "mkdir":
        this.#create(path, new DiskFolder());
        break;
      case "rename":
        throw new Error(`${path} was renamed, which the simulated disk does not know`);
    }
  }

  #find(path: string): DiskEntry {
    let entry: DiskEntry = this.root;
    for (const name of this.#names(path)) {
      if (!(entry instanceof DiskFolder)) return undefined;
      entry = entry.get(name);
    }
    return entry;
  }

  #file(path: string): DiskFile {
    const file = this.#find(path);
    if (file instanceof DiskFile) return file;
    throw new Error(`${path} was written to, and is no file of the simulated disk`);
  }

  #create(path: string, entry: DiskEntry): void {
    const names = this.#names(path);
    const name = names.pop();
    const folder = this.#find([this.#rootPath, ...names].join("/"));
    if (!(folder instanceof DiskFolder) || name === undefined) {
      throw new Error(`${path} has no folder on the simulated disk`);
    }
    folder.set(name, entry);
  }

  #names(path: string): string[] {
    return path
      .slice(this.#rootPath.length)
      .split("/")
      .filter((name) => name !== "");
  }
}
