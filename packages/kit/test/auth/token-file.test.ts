import { execFile } from "node:child_process";
import fs from "node:fs";
import { chmod, chown, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createToken,
  digestToken,
  listTokens,
  liveTokensMax,
  revokeToken,
  type TokenFileErrorCode,
  tokenFileBytesMax,
} from "../../src/auth/token-file.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder, "made", "here", "tokens");
});

const create = (name: string) => createToken(file, name, "plst_");

async function names(): Promise<string[]> {
  return (await listTokens(file)).map(({ name }) => name);
}

/** The expected failure: a code, and one line. */
function failure(code: TokenFileErrorCode, message: RegExp = /./) {
  return expect.objectContaining({
    name: "TokenFileError",
    code,
    message: expect.stringMatching(message),
  });
}

const at = "2026-01-02T03:04:05.678Z";
const createLine = (name: string) => `create ${name} ${digestToken(name).toString("hex")} ${at}\n`;

async function writeTokenFile(text: string): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text, { mode: 0o600 });
}

describe("create", () => {
  test("returns a token of 256 random bits, and stores only its digest", async () => {
    const before = Date.now();
    const token = await create("ada");
    expect(token).toMatch(/^plst_[A-Za-z0-9_-]{43}$/);
    const text = await readFile(file, "utf8");
    expect(text).toMatch(/^create ada [0-9a-f]{64} \S+Z\n$/);
    expect(text).not.toContain(token);
    const [listed] = await listTokens(file);
    expect(listed).toMatchObject({ name: "ada", digest: digestToken(token).toString("hex") });
    expect(Date.parse(listed?.createdAt ?? "")).toBeGreaterThanOrEqual(before);
  });

  test("creates the file and its directories with access only for the owner, if it can", async () => {
    await create("ada");
    const modes = [file, join(file, ".."), join(file, "../..")].map(
      (path) => fs.statSync(path).mode,
    );
    expect(modes.map((mode) => (mode & 0o777).toString(8))).toEqual(["600", "700", "700"]);
    file = "/proc/none/tokens";
    await expect(create("ada")).rejects.toEqual(failure("io", /^\/proc\/none\/tokens: ENOENT/));
  });

  test.skipIf(process.getuid?.() !== 0)(
    "gives what root creates to its folder's owner",
    async () => {
      const given = join(folder, "given");
      await chown(folder, 65534, 65533);
      await createToken(given, "ada", "plst_");
      expect(await stat(given)).toMatchObject({ uid: 65534, gid: 65533 });
      await chown(given, 1000, 1001);
      await createToken(given, "bob", "plst_");
      expect(await stat(given)).toMatchObject({ uid: 1000, gid: 1001 });
    },
  );

  test("rejects a live name, and keeps its token", async () => {
    await create("ada");
    const before = await readFile(file, "utf8");
    await expect(create("ada")).rejects.toEqual(failure("name_in_use", /named ada/));
    expect(await readFile(file, "utf8")).toBe(before);
  });

  const wrong = ["a b", "a\n", "", "../x", "a".repeat(65)];
  test.each(wrong)("rejects %j, which is no name", async (name) => {
    await expect(create(name)).rejects.toEqual(failure("invalid_name"));
    await expect(stat(file)).rejects.toThrow("ENOENT");
  });

  test("rejects live tokens above the limit, but can revoke and replace them", async () => {
    const lines = Array.from({ length: liveTokensMax }, (_, index) => createLine(`t${index}`));
    await writeTokenFile(lines.join(""));
    await expect(create("more")).rejects.toEqual(failure("full"));
    await revokeToken(file, "t0");
    await create("more");
    expect((await names()).at(-1)).toBe("more");
  });

  test("leaves room to revoke in a full file", async () => {
    const comment = `#${"x".repeat(1022)}\n`;
    await writeTokenFile(createLine("ada") + comment.repeat(tokenFileBytesMax / 1024 - 127));
    await expect(create("more")).rejects.toEqual(failure("full"));
    await revokeToken(file, "ada");
    expect(await names()).toEqual([]);
  });
});

test("revoke rejects an unknown or already revoked name", async () => {
  await expect(revokeToken(file, "ada")).rejects.toEqual(failure("unknown_name", /named ada/));
  await create("ada");
  await revokeToken(file, "ada");
  await expect(revokeToken(file, "ada")).rejects.toEqual(failure("unknown_name"));
});

describe("a handwritten file", () => {
  test("with a bad line is not used; the error names file and line without quoting it", async () => {
    await writeTokenFile(`${createLine("ada")}plst_secret\n`);
    const error = failure("malformed", /tokens: line 2 (?!.*secret)/);
    await expect(listTokens(file)).rejects.toEqual(error);
    await expect(create("bob")).rejects.toEqual(error);
    await expect(revokeToken(file, "ada")).rejects.toEqual(error);
    expect(await readFile(file, "utf8")).toBe(`${createLine("ada")}plst_secret\n`);
  });

  test("is found through a symbolic link", async () => {
    await writeTokenFile(createLine("ada"));
    const target = file;
    file = join(folder, "link");
    await symlink(target, file);
    await create("bob");
    expect(await names()).toEqual(["ada", "bob"]);
    expect(await readFile(target, "utf8")).toContain("create bob");
  });
});

describe("an unusable file", () => {
  test.each<
    [what: string, make: () => Promise<unknown>, code: TokenFileErrorCode, message: RegExp]
  >([
    ["its group can write", () => writable(0o620), "unsafe", /other users can write it.*chmod 600/],
    ["a folder", () => mkdir(file, { recursive: true }), "unsafe", /not a regular file/],
    ["a device", () => link("/dev/null"), "unsafe", /not a regular file/],
    // Nothing waits for who writes it.
    ["a named pipe", makePipe, "unsafe", /not a regular file/],
    ["too large", () => writeTokenFile("\n".repeat(tokenFileBytesMax + 1)), "full", /; delete/],
    ["below a file", () => writeFile(join(folder, "made"), ""), "io", /ENOTDIR/],
  ])("%s is rejected with a clear error", async (_what, make, code, message) => {
    await make();
    await expect(listTokens(file)).rejects.toEqual(failure(code, message));
    await expect(revokeToken(file, "ada")).rejects.toEqual(failure(code, message));
    await expect(create("ada")).rejects.toThrow(message);
  });

  async function writable(mode: number): Promise<void> {
    await writeTokenFile(createLine("ada"));
    await chmod(file, mode);
  }
  async function link(target: string): Promise<void> {
    await mkdir(join(file, ".."), { recursive: true });
    await symlink(target, file);
  }
  async function makePipe(): Promise<void> {
    await mkdir(join(file, ".."), { recursive: true });
    await promisify(execFile)("mkfifo", ["-m", "600", file]);
  }
});

/** Replaces a function of the disk once. */
function once<Name extends "writeSync" | "fsyncSync">(name: Name, replacement: (typeof fs)[Name]) {
  const real = fs[name];
  const restore = () => {
    fs[name] = real;
    syncBuiltinESMExports();
  };
  fs[name] = ((...args: Parameters<typeof real>) => {
    restore();
    return Reflect.apply(replacement, fs, args);
  }) as never;
  syncBuiltinESMExports();
  onTestFinished(restore);
}

const failing = (code: string) => () => {
  throw new Error(code);
};

describe("a failing disk", () => {
  test("before anything is written: an error, nothing created", async () => {
    await create("ada");
    once("writeSync", failing("ENOSPC"));
    await expect(create("bob")).rejects.toEqual(failure("io", /ENOSPC/));
    expect(await names()).toEqual(["ada"]);
    await create("bob");
  });

  test("in the middle of a line: an error, nothing created, and the next change works", async () => {
    await create("ada");
    once("writeSync", (fd, data) => fs.writeSync(fd, Buffer.from(String(data)).subarray(0, 40)));
    await expect(create("bob")).rejects.toEqual(failure("io", /only part of the line/));
    expect(await names()).toEqual(["ada"]);
    await create("bob");
    expect(await names()).toEqual(["ada", "bob"]);
  });

  test("after writing: an error, although the token exists; it can be revoked", async () => {
    await create("ada");
    once("fsyncSync", failing("EIO"));
    await expect(create("bob")).rejects.toEqual(failure("io", /EIO/));
    expect(await names()).toEqual(["ada", "bob"]);
    await revokeToken(file, "bob");
    await create("bob");
  });

  test("an editor that replaces the file during a create: an error, no lost token", async () => {
    await create("ada");
    const before = await readFile(file);
    once("fsyncSync", () => {
      fs.writeFileSync(`${file}.new`, before, { mode: 0o600 });
      fs.renameSync(`${file}.new`, file);
    });
    await expect(create("bob")).rejects.toEqual(failure("changed", /try again/));
    expect(await names()).toEqual(["ada"]);
  });

  test("a faster process that creates the same name: an error, and its token is kept", async () => {
    await create("ada");
    const before = await readFile(file, "utf8");
    once("fsyncSync", () => {
      const ours = fs.readFileSync(file, "utf8").slice(before.length);
      fs.writeFileSync(file, before + createLine("bob") + ours);
    });
    await expect(create("bob")).rejects.toEqual(failure("name_in_use", /named bob/));
    const [, bob] = await listTokens(file);
    expect(bob?.digest).toBe(digestToken("bob").toString("hex"));
  });

  test("an editor that undoes a revocation: an error", async () => {
    await create("ada");
    const before = await readFile(file);
    once("fsyncSync", () => fs.writeFileSync(file, before));
    await expect(revokeToken(file, "ada")).rejects.toEqual(failure("changed"));
  });

  test("no change is reported as done before it and its directory are synced", async () => {
    const synced: string[] = [];
    const spy = vi.spyOn(fs, "fsyncSync").mockImplementation((fd) => {
      synced.push(fs.readlinkSync(`/proc/self/fd/${fd}`));
      // As some file systems do.
      if (fs.fstatSync(fd).isDirectory()) throw Object.assign(new Error(), { code: "EINVAL" });
    });
    syncBuiltinESMExports();
    onTestFinished(() => {
      spy.mockRestore();
      syncBuiltinESMExports();
    });
    if (process.platform !== "linux") return;
    await create("ada");
    expect(synced).toEqual([folder, join(folder, "made"), file, join(file, "..")]);
    await revokeToken(file, "ada");
    expect(synced.slice(4)).toEqual([file]);
  });
});

test.skipIf(process.platform !== "linux")("the file is closed after each use", async () => {
  await create("ada");
  await expect(create("ada")).rejects.toEqual(failure("name_in_use"));
  await listTokens(file);
  await revokeToken(file, "ada");
  const isOurs = (descriptor: string) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${descriptor}`).startsWith(folder);
    } catch {
      return false; // that of the folder itself
    }
  };
  expect(fs.readdirSync("/proc/self/fd").filter(isOurs)).toEqual([]);
});

const all = [0, 1, 2];

test("concurrently in many processes: no change is lost", async () => {
  await Promise.all(all.map((index) => create(`old${index}`)));
  const module = JSON.stringify(new URL("../../src/auth/token-file.ts", import.meta.url));
  const script = `
    import { createToken, revokeToken } from ${module};
    const [file, index] = process.argv.slice(1);
    for (let n = 0; n < 10; n++) await createToken(file, \`p\${index}-\${n}\`, "plst_");
    await revokeToken(file, \`p\${index}-0\`);
    await revokeToken(file, \`old\${index}\`);
    process.stdout.write(await createToken(file, "shared", "plst_").catch(({ code }) => code));
  `;
  const outputs = await Promise.all(
    all.map(async (index) => {
      const args = ["--input-type=module", "--eval", script, "--", file, `${index}`];
      return (await promisify(execFile)(process.execPath, args)).stdout;
    }),
  );
  const expected = ["shared"];
  for (const index of all) for (let n = 1; n < 10; n++) expected.push(`p${index}-${n}`);
  expect((await names()).sort()).toEqual(expected.sort());
  expect(outputs.filter((output) => output === "name_in_use")).toHaveLength(all.length - 1);
  expect(outputs.filter((output) => output.startsWith("plst_"))).toHaveLength(1);
});
