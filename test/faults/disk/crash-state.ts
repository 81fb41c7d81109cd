import {
  type DiskEntry,
  DiskFile,
  DiskFolder,
  pageBytes,
  type Tree,
  type Versions,
} from "./disk.ts";

/** The minimum that a disk writes atomically; a page has several. */
const sectorBytes = 512;

/** Chooses what is found. */
interface Choice {
  page(versions: Versions<Buffer>, file: DiskFile, page: number): Buffer;
  size(versions: Versions<number>): number;
  entry(versions: Versions<DiskEntry>): DiskEntry;
}

/** From 0 up to, but excluding, 1. */
type Random = () => number;

const first = <T>({ all }: Versions<T>): T => all[0] as T;
const last = <T>({ last: version }: Versions<T>): T => version;

function any<T>({ all }: Versions<T>, random: Random): T {
  return all[Math.floor(random() * all.length)] as T;
}

/** Each sector from one of two versions. */
function torn(versions: Versions<Buffer>, random: Random): Buffer {
  const one = any(versions, random);
  const other = any(versions, random);
  if (one === other) return one;
  const bytes = Buffer.from(one);
  for (let at = 0; at < pageBytes; at += sectorBytes) {
    if (random() < 0.5) other.copy(bytes, at, at, at + sectorBytes);
  }
  return bytes;
}

type ChooseBy = (random: Random, lastFile: DiskFile | undefined) => Choice;

/** What a power failure leaves of unsynced data. */
export const outages = {
  "nothing unsynced": () => ({ page: first, size: first, entry: first }),
  everything: () => ({ page: last, size: last, entry: last }),
  "the last write alone": (_, lastFile) => ({
    page: (versions, file, page) =>
      file === lastFile && file.lastPages.includes(page) ? versions.last : first(versions),
    size: last,
    entry: last,
  }),
  "all but the last write": (_, lastFile) => ({
    page: (versions, file, page) =>
      file === lastFile && file.lastPages.includes(page) ? first(versions) : versions.last,
    size: last,
    entry: last,
  }),
  "sizes and names alone": () => ({ page: first, size: last, entry: last }),
  "all but names": () => ({ page: last, size: last, entry: first }),
  "all but sizes": () => ({ page: last, size: first, entry: last }),
  "some pages": (random) => {
    const share = random();
    return {
      page: (versions) => (random() < share ? any(versions, random) : versions.last),
      size: (versions) => any(versions, random),
      entry: (versions) => any(versions, random),
    };
  },
  "few pages": (random) => ({
    page: (versions) => (random() < 0.1 ? any(versions, random) : first(versions)),
    size: last,
    entry: last,
  }),
  "all but few pages": (random) => ({
    page: (versions) => (random() < 0.1 ? any(versions, random) : versions.last),
    size: last,
    entry: last,
  }),
  "torn pages": (random) => ({
    page: (versions) => torn(versions, random),
    size: last,
    entry: (versions) => any(versions, random),
  }),
} satisfies Readonly<Record<string, ChooseBy>>;

export type OutageName = keyof typeof outages;
export const outageNames = Object.keys(outages) as readonly OutageName[];

/** What remains of a directory. */
export function crash(folder: DiskFolder, choice: Choice): Tree {
  const left = new Map<string, Buffer | Tree>();
  for (const [name, versions] of folder.entries) {
    const entry = choice.entry(versions);
    if (entry instanceof DiskFolder) left.set(name, crash(entry, choice));
    if (entry instanceof DiskFile) left.set(name, crashFile(entry, choice));
  }
  return left;
}

function crashFile(file: DiskFile, choice: Choice): Buffer {
  const content = Buffer.alloc(choice.size(file.size));
  for (const [page, versions] of file.pages) {
    if (page * pageBytes >= content.byteLength) continue;
    const bytes = versions.all.length === 1 ? versions.last : choice.page(versions, file, page);
    bytes.copy(content, page * pageBytes);
  }
  return content;
}
