import {
  appendFile,
  chmod,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { openCollector } from "../../packages/gateway/test/support/collect-garbage.ts";
import { digestToken, mintToken } from "../../src/auth/token.ts";
import { createToken, revokeToken } from "../../src/auth/token-file.ts";
import { openTokenVerifier, type TokenVerifier } from "../../src/auth/token-verifier.ts";
import { unknownToken } from "../../src/auth/verifier.ts";
import { temporaryFolder } from "./support/temporary-folder.ts";

let folder: string;
let file: string;
let problems: string[];
let verifier: TokenVerifier;

beforeEach(async () => {
  folder = await temporaryFolder();
  file = join(folder, "data", "tokens");
  problems = [];
});

async function start(...tokens: readonly string[]): Promise<void> {
  verifier = await openTokenVerifier({
    file,
    tokens,
    report: (message) => problems.push(message),
  });
  onTestFinished(() => verifier.close());
}

/** The name of the principal, or the reason of the rejection. */
function ask(token: string): string | undefined {
  const verdict = verifier.verify(token);
  if (verdict instanceof Promise) throw new Error("must be synchronous");
  if (verdict.kind === "verified" && verdict.principal.kind === "token") {
    return verdict.principal.name;
  }
  return verdict.kind === "refused" ? verdict.reason : verdict.kind;
}

/** It takes a quarter of a second, see the test of the watch; a busy machine may be slower. */
const soon = { timeout: 5000, interval: 5 };
const becomes = (token: string) => expect.poll(() => ask(token), soon);
const nextProblem = () => expect.poll(() => problems, soon);

/** A line that only an operator could have written: chosen name, chosen token. */
function line(name: string, token: string): string {
  return `create ${name} ${digestToken(token).toString("hex")} 2026-01-02T03:04:05Z\n`;
}

async function save(text: string): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text, { mode: 0o600 });
}

async function saveByRename(text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

const [one, two, three] = ["one-one-one-one-one", "two-two-two-two-two", "three-three-three"];

describe("a running verifier", () => {
  test("knows the tokens of its file from the start", async () => {
    const token = await createToken(file, "ada");
    await start();
    expect(ask(token)).toBe("ada");
    expect(ask(mintToken())).toBe("unknown");
    expect(ask(token.slice(0, -1))).toBe("unknown");
    expect(ask(`${token}x`)).toBe("unknown");
  });

  test("finds the first token of a file that did not exist, not even its directory", async () => {
    await start();
    const token = await createToken(file, "ada");
    await becomes(token).toBe("ada");
  });

  test("finds created and revoked tokens", async () => {
    const ada = await createToken(file, "ada");
    await start();
    const bob = await createToken(file, "bob");
    await becomes(bob).toBe("bob");
    await revokeToken(file, "ada");
    await becomes(ada).toBe("unknown");
    expect(ask(bob)).toBe("bob");
    const again = await createToken(file, "ada");
    await becomes(again).toBe("ada");
    expect(ask(ada)).toBe("unknown");
    expect(problems).toEqual([]);
  });

  test("asked again, knows a new token at once, however many callers ask", async () => {
    await start();
    const stranger = mintToken();
    const early = verifier.verifyNew(stranger);
    const ada = await createToken(file, "ada");
    const asked = [verifier.verifyNew(ada), verifier.verifyNew(stranger), verifier.verifyNew(ada)];
    const [first, other, second] = await Promise.all(asked);
    expect(first).toEqual({ kind: "verified", principal: { kind: "token", name: "ada" } });
    expect(second).toEqual(first);
    expect([await early, other]).toEqual([unknownToken, unknownToken]);
    const bob = await createToken(file, "bob");
    expect(await verifier.verifyNew(bob)).toMatchObject({ principal: { name: "bob" } });
  });

  test("asked again, does not check the file for tokens of another form", async () => {
    await start();
    for (const token of [one, "plst_", `${mintToken()}x`, "a.b.c"]) {
      expect(verifier.verifyNew(token)).toBe(unknownToken);
    }
  });

  const edits: readonly [what: string, edit: (text: string) => Promise<unknown>][] = [
    ["saved in place", save],
    ["saved by renaming", saveByRename],
    ["deleted and written again", (text) => rm(file).then(() => save(text))],
  ];
  test.each(edits)("finds an edit that was %s", async (_what, edit) => {
    await save(line("ada", one) + line("bob", two));
    await start();
    await edit(line("bob", two) + line("cal", three));
    await becomes(one).toBe("unknown");
    await becomes(three).toBe("cal");
    expect(ask(two)).toBe("bob");
  });

  test("finds a symbolic link that is switched, as in Kubernetes", async () => {
    for (const [version, token] of Object.entries({ v1: one, v2: two })) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "tokens"), line(version, token), { mode: 0o600 });
    }
    await symlink("v1", join(folder, "data"));
    await start();
    expect(ask(one)).toBe("v1");
    await symlink("v2", join(folder, "data.new"));
    await rename(join(folder, "data.new"), join(folder, "data"));
    await becomes(two).toBe("v2");
    expect(ask(one)).toBe("unknown");
  });

  test("rejects all tokens of a deleted file, reports it, and accepts them when it is back", async () => {
    await save(line("ada", one) + line("bob", two));
    await start();
    await rm(file);
    await becomes(one).toBe("unknown");
    expect(ask(two)).toBe("unknown");
    expect(problems).toEqual([`${file}: is gone, and with it the 2 tokens it held`]);
    await save(line("ada", one));
    await becomes(one).toBe("ada");
  });

  test("ignores an incomplete last line until it is complete", async () => {
    await save(line("ada", one));
    await start();
    const whole = line("bob", two);
    await appendFile(file, whole.slice(0, 50));
    await appendFile(file, whole.slice(50));
    await becomes(two).toBe("bob");
    expect(problems).toEqual([]);
  });

  test("stops watching when it is closed", async () => {
    await save(line("ada", one));
    await start();
    verifier.close();
    const watched = await openTokenVerifier({ file, tokens: [], report: () => {} });
    onTestFinished(() => watched.close());
    await rm(file);
    await expect.poll(() => watched.verify(one), soon).toMatchObject({ kind: "refused" });
    expect(ask(one)).toBe("ada");
  });
});

describe("a file that becomes invalid", () => {
  const malformed = expect.stringMatching(/tokens: line \d cannot be understood.*mended$/);

  test("revokes but never adds; once fixed, it adds again", async () => {
    await save(line("ada", one) + line("bob", two));
    await start();
    await save(`${line("bob", two)}oops\n${line("cal", three)}`);
    await becomes(one).toBe("unknown");
    expect(ask(two)).toBe("bob");
    expect(ask(three)).toBe("unknown");
    expect(problems).toEqual([malformed]);
    await save(line("bob", two) + line("cal", three));
    await becomes(three).toBe("cal");
    expect(problems).toHaveLength(1);
  });

  test("does not hide a revocation next to the mistake", async () => {
    await save(line("ada", one) + line("bob", two));
    await start();
    await appendFile(file, "oops\nrevoke ada 2026-01-02T03:04:05Z\n");
    await becomes(one).toBe("unknown");
    expect(ask(two)).toBe("bob");
  });

  test("does not give a token to a name whose old token it revoked", async () => {
    await save(line("ada", one));
    await start();
    await save(`${line("ada", two)}oops\n`);
    await becomes(one).toBe("unknown");
    expect(ask(two)).toBe("unknown");
  });

  const unreadable: readonly [what: string, spoil: () => Promise<unknown>, message: RegExp][] = [
    ["writable by others", () => chmod(file, 0o666), /other users can write it/],
    ["too large", () => appendFile(file, "#".repeat(2 ** 20)), /larger than/],
    ["a folder", () => rm(file).then(() => mkdir(file)), /not a regular file/],
  ];
  test.each(unreadable)(
    "that cannot be read (%s) changes nothing, and is reported once",
    async (_what, spoil, message) => {
      await save(line("ada", one));
      await start();
      await spoil();
      await nextProblem().toEqual([expect.stringMatching(message)]);
      expect(ask(one)).toBe("ada");
      await rm(file, { recursive: true });
      await becomes(one).toBe("unknown");
      expect(problems.filter((problem) => message.test(problem))).toHaveLength(1);
    },
  );

  test("fails startup if it is invalid from the start", async () => {
    await save(`${line("ada", one)}oops\n`);
    await expect(start()).rejects.toThrow(`${file}: line 2 cannot be understood`);
  });
});

/** Verified tokens are cached. The cache must never outlive their validity. */
describe("a token in use", () => {
  const changes: readonly [what: string, change: () => Promise<unknown>][] = [
    ["is revoked", () => revokeToken(file, "ada")],
    ["is revoked beside a slip", () => appendFile(file, "oops\nrevoke ada 2026-01-02T03:04:05Z\n")],
    ["is edited out of its file", () => save(line("bob", two))],
    ["is in a file that is replaced", () => saveByRename(line("bob", two))],
    ["is in a file that becomes malformed without it", () => save(`${line("bob", two)}oops\n`)],
    ["is in a file that is deleted", () => rm(file)],
    ["has another token under its name", () => save(line("ada", three) + line("bob", two))],
    ["is replaced by one that begins with it", () => save(line("ada", `${one}x`))],
  ];
  test.each(changes)("and %s is unknown from then on", async (_what, change) => {
    await save(line("ada", one) + line("bob", two));
    await start();
    expect([one, two].map(ask)).toEqual(["ada", "bob"]);
    await change();
    await becomes(one).toBe("unknown");
    expect(ask(one)).toBe("unknown");
  });

  test("that is removed and added again works only while it is there, under its new name", async () => {
    await save(line("ada", one));
    await start();
    expect(ask(one)).toBe("ada");
    await save("");
    await becomes(one).toBe("unknown");
    await save(line("eve", one));
    await becomes(one).toBe("eve");
    await revokeToken(file, "eve");
    await becomes(one).toBe("unknown");
  });

  test("does not admit anyone with a part of it, its digest, or another spelling", async () => {
    await save(line("ada", one));
    await start();
    expect(ask(one)).toBe("ada");
    const digest = digestToken(one);
    const near = [
      ...Array.from(one, (_, length) => one.slice(0, length)),
      ...Array.from(one, (_, begin) => one.slice(begin + 1)),
      ...[`${one}=`, `${one}.`, one + one, one.toUpperCase(), "ada", "tokens#1"],
      ...[digest.toString("hex"), digest.toString("base64url"), digest.toString("latin1")],
    ];
    expect(new Set(near.map(ask))).toEqual(new Set(["unknown"]));
    expect(ask(one)).toBe("ada");
  });

  test("is cached, but tokens of strangers are not: they cost no memory", async () => {
    await save(line("ada", one));
    await start();
    const collect = openCollector();
    const padding = "x".repeat(4000);
    const usedAfter = (count: number): number => {
      for (let n = 0; n < count; n++) ask(`${padding}${n}`);
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = usedAfter(100);
    // Of 40 MB of tokens, a tenth would be a leak.
    expect(usedAfter(10_000) - before).toBeLessThan(4_000_000);
    expect(ask(one)).toBe("ada");
  });
});

describe("given tokens", () => {
  test("are accepted along with those of the file, each by its position", async () => {
    const ada = await createToken(file, "ada");
    await start(one, two);
    expect([ada, one, two, three].map(ask)).toEqual(["ada", "tokens#1", "tokens#2", "unknown"]);
  });

  test("outlive every change of the file", async () => {
    await save(line("ada", three));
    await start(one);
    await rm(file);
    await becomes(three).toBe("unknown");
    expect(ask(one)).toBe("tokens#1");
    expect(await readFile(file).catch(() => "gone")).toBe("gone");
  });

  test("need no file", async () => {
    verifier = await openTokenVerifier({ tokens: [one], report: () => {} });
    expect([one, two].map(ask)).toEqual(["tokens#1", "unknown"]);
    expect(verifier.verifyNew(mintToken())).toBe(unknownToken);
    verifier.close();
  });
});
