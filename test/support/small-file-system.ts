import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync, truncateSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";

export const fileSystems = ["tmpfs", "ext4 -b 1024", "ext4 -b 4096"] as const;

/** Only root may mount. */
export const canMount =
  process.platform === "linux" &&
  runs("unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt") &&
  existsSync("/dev/loop-control");

/** Unmounted and removed at the end of an `await using`. */
export async function mountFileSystem(kind: (typeof fileSystems)[number]) {
  const folder = await createTemporaryFolder();
  const path = join(folder.path, "mounted");
  await mkdir(path);
  const image = `${path}.img`;
  const [type = "", ...flags] = kind.split(" ");
  const isMounted =
    type === "tmpfs"
      ? runs("mount", "-t", type, "-o", "size=12m", type, path)
      : runs("truncate", "--size", "16M", image) &&
        runs(`mkfs.${type}`, "-q", "-m", "0", ...flags, image) &&
        runs("mount", image, path);
  if (!isMounted) throw new Error(`${kind} cannot be mounted`);
  const file = join(path, "filling");
  return {
    path,
    /** Fills it with a file that leaves this much. */
    fill(freeKib: number) {
      // It ends when nothing more has room.
      runs("dd", "if=/dev/zero", `of=${file}`, "bs=1k", "conv=fsync");
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
