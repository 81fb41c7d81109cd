import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync, truncateSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";

/** Their options of `mkfs`, and their sizes. That of XFS may be missing. */
const sizes = { tmpfs: 12, "ext4 -b 1024 -m 0": 16, "ext4 -b 4096 -m 0": 16, xfs: 300 };
type FileSystem = keyof typeof sizes;

export const fileSystems = (Object.keys(sizes) as FileSystem[]).filter(
  (kind) => kind === "tmpfs" || runs(`mkfs.${kind.split(" ", 1)}`, "-V"),
);

/** Only root may mount. */
export const canMount =
  process.platform === "linux" &&
  runs("unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt") &&
  existsSync("/dev/loop-control");

/** Unmounted and removed at the end of an `await using`. */
export async function mountFileSystem(kind: FileSystem) {
  const folder = await createTemporaryFolder();
  const path = join(folder.path, "mounted");
  await mkdir(path);
  const image = `${path}.img`;
  const size = `${sizes[kind]}M`;
  const [type = "", ...flags] = kind.split(" ");
  const isMounted =
    type === "tmpfs"
      ? runs("mount", "-t", type, "-o", `size=${size}`, type, path)
      : runs("truncate", "--size", size, image) &&
        runs(`mkfs.${type}`, "-q", ...flags, image) &&
        runs("mount", image, path);
  if (!isMounted) throw new Error(`${kind} cannot be mounted`);
  const file = join(path, "filling");
  return {
    path,
    /** Fills it with a file that leaves this much. */
    fill(freeKib: number) {
      // They end when nothing more has room.
      runs("dd", "if=/dev/zero", `of=${file}`, "bs=1M");
      runs("dd", "if=/dev/zero", `of=${file}`, "bs=1k", "oflag=append", "conv=notrunc,fsync");
      truncateSync(file, Math.max(0, statSync(file).size - freeKib * 1024));
      runs("sync", file);
    },
    empty: () => rmSync(file, { force: true }),
    async [Symbol.asyncDispose]() {
      runs("umount", "--lazy", path);
      await folder[Symbol.asyncDispose]();
    },
  };
}

function runs(command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore" }).status === 0;
}
