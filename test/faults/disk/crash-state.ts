import {
  type Disk,
  type DiskEntry,
  DiskFile,
  folderOf,
  pageBytes,
  type Tree,
  type Versions,
} from "./disk.ts";

/** The minimum that a disk writes atomically; a page has several. */
const sectorBytes = 512;

/** Chooses what is found. By default: what the running system saw. */
interface Choice {
  page?(versions: Versions<Buffer>, isLastWrite: boolean): Buffer;
  size?(versions: Versions<number>): number;
  entry?(versions: Versions<DiskEntry>): DiskEntry;
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

/** What a power failure leaves of unsynced data. */
export const outages = {
  "nothing unsynced": () => ({ page: first, size: first, entry: first }),
  everything: () => ({}),
  "the last write alone": () => ({
    page: (versions, isLastWrite) => (isLastWrite ? versions.last : first(versions)),
  }),
  "all but the last write": () => ({
    page: (versions, isLastWrite) => (isLastWrite ? first(versions) : versions.last),
  }),
  "sizes and names alone": () => ({ page: first }),
  "all but names": () => ({ entry: first }),
  "all but sizes": () => ({ size: first }),
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
  }),
  "all but few pages": (random) => ({
    page: (versions) => (random() < 0.1 ? any(versions, random) : versions.last),
  }),
  "torn pages": (random) => ({
    page: (versions) => torn(versions, random),
    entry: (versions) => any(versions, random),
  }),
} satisfies Readonly<Record<string, (random: Random) => Choice>>;

export type OutageName = keyof typeof outages;
export const outageNames = Object.keys(outages) as readonly OutageName[];

/** What remains of a disk. */
export function crash({ entries, lastFile }: Disk, outage: OutageName, random: Random): Tree {
  const choice: Choice = outages[outage](random);
  const { page: choosePage = last, size: chooseSize = last, entry: chooseEntry = last } = choice;
  const left = new Map<string, Buffer | "folder">();
  for (const [path, versions] of entries) {
    const entry = chooseEntry(versions);
    const folder = folderOf(path);
    if (entry === undefined || (folder !== "" && !left.has(folder))) continue;
    left.set(path, entry instanceof DiskFile ? crashFile(entry) : entry);
  }
  return left;

  function crashFile(file: DiskFile): Buffer {
    const content = Buffer.alloc(chooseSize(file.size));
    for (const [page, versions] of file.pages) {
      if (page * pageBytes >= content.byteLength) continue;
      const isLastWrite = file === lastFile && file.lastPages.includes(page);
      const bytes = versions.all.length === 1 ? versions.last : choosePage(versions, isLastWrite);
      bytes.copy(content, page * pageBytes);
    }
    return content;
  }
}
