import promises, {
  appendFile,
  chmod,
  mkdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { openCollector } from "../../../gateway/test/support/collect-garbage.ts";
import { createToken, digestToken, mintToken, revokeToken } from "../../src/auth/token-file.ts";
import { openTokenVerifier } from "../../src/auth/token-verifier.ts";
import { unknownToken, type Verdict } from "../../src/auth/verifier.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

let folder: string;
let file: string;
let problems: string[];
let verifier: Awaited<ReturnType<typeof openTokenVerifier>>;
let clock = 0;

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
    now: () => clock,
  });
}

/** The name of the principal, or the reason of the rejection. */
async function ask(token: string): Promise<string | undefined> {
  const verdict = await verifier.verify(token);
  if (verdict.kind === "verified" && verdict.principal.kind === "token") {
    return verdict.principal.name;
  }
  return verdict.kind === "refused" ? verdict.reason : verdict.kind;
}

/** The same, half a second later: as late as a change may become known. */
function askLater(token: string): Promise<string | undefined> {
  clock += 501;
  return ask(token);
}

/** A line that only an operator could have written: chosen name, chosen token. */
function line(name: string, token: string): string {
  return `create ${name} ${digestToken(token).toString("hex")} 2026-01-02T03:04:05Z\n`;
}

async function save(text: string): Promise<void> {
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, text, { mode: 0o600 });
}

/** With a token for each of these names. */
async function startWith(tokens: Readonly<Record<string, string>>): Promise<void> {
  await save(
    Object.entries(tokens)
      .map(([name, token]) => line(name, token))
      .join(""),
  );
  await start();
}

/** Has looks at the file wait for this. */
function answerLooks(answer: Promise<never>) {
  const spy = vi.spyOn(promises, "stat").mockImplementation(() => answer);
  syncBuiltinESMExports();
  onTestFinished(() => {
    spy.mockRestore();
    syncBuiltinESMExports();
  });
  return spy;
}

async function saveByRename(text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

function verified(name: string): Verdict {
  return { kind: "verified", principal: { kind: "token", name } };
}

const [one, two, three, four] = ["one", "two", "three", "four"].map((word) => word.repeat(5)) as [
  string,
  string,
  string,
  string,
];

describe("a running verifier", () => {
  test("knows a new token at once, however many callers ask, and again", async () => {
    await start();
    const stranger = mintToken("plst_");
    for (const name of ["ada", "bob"]) {
      const early = ask(stranger);
      const token = await createToken(file, name, "plst_");
      expect(await Promise.all([token, stranger, token].map(ask))).toEqual([name, "unknown", name]);
      expect(await early).toBe("unknown");
    }
    const cal = await createToken(file, "cal", "plst_");
    expect(await ask(cal)).toBe("cal");
  });

  test("looks at the file four times a second at most, once at a time", async () => {
    const ada = await createToken(file, "ada", "plst_");
    await start();
    const looked = Promise.withResolvers<never>();
    const spy = answerLooks(looked.promise);
    clock += 250;
    for (let n = 0; n < 10; n++) void verifier.verify(ada);
    expect(spy).toHaveBeenCalledTimes(0);
    clock += 1;
    for (let n = 0; n < 10; n++) void verifier.verify(ada);
    expect(spy).toHaveBeenCalledTimes(1);
    looked.reject(new Error("enough"));
    await verifier.look();
    expect(spy).toHaveBeenCalledTimes(2);
  });

  test("answers at once for what it knows, and for tokens of another form", async () => {
    const ada = await createToken(file, "ada", "plst_");
    await start(one);
    expect(verifier.verify(ada)).toEqual(verified("ada"));
    expect(verifier.verify(one)).toEqual(verified("tokens#1"));
    for (const token of [two, "plst_", `${mintToken("plst_")}x`, "a.b.c"]) {
      expect(verifier.verify(token)).toBe(unknownToken);
    }
  });

  test("accepts a revoked token for half a second at most, however busy it is", async () => {
    const ada = await createToken(file, "ada", "plst_");
    await start();
    await revokeToken(file, "ada");
    clock += 500;
    // Nothing else runs between these calls, as in a flood.
    const flood = Array.from({ length: 100 }, () => verifier.verify(ada));
    expect(new Set(flood)).toEqual(new Set([verified("ada")]));
    clock += 1;
    const late = Array.from({ length: 100 }, () => verifier.verify(ada));
    expect(new Set(await Promise.all(late))).toEqual(new Set([unknownToken]));
  });

  test("does not lock callers out while a disk hangs", async () => {
    const ada = await createToken(file, "ada", "plst_");
    await start();
    const spy = answerLooks(Promise.withResolvers<never>().promise);
    expect(await askLater(ada)).toBe("ada");
    expect(await Promise.all([ada, ada, mintToken("plst_")].map(ask))).toEqual([
      "ada",
      "ada",
      "unknown",
    ]);
    expect(spy).toHaveBeenCalledTimes(1);
  });

  test.each<[what: string, edit: (text: string) => Promise<unknown>]>([
    ["saved in place", save],
    ["saved by renaming", saveByRename],
    ["deleted and written again", (text) => rm(file).then(() => save(text))],
  ])("finds an edit that was %s", async (_what, edit) => {
    await startWith({ ada: one, bob: two });
    await edit(line("bob", two) + line("cal", three));
    expect(await askLater(one)).toBe("unknown");
    expect(await askLater(three)).toBe("cal");
    expect(await ask(two)).toBe("bob");
  });

  test("finds a symbolic link that is switched, as in Kubernetes", async () => {
    for (const [version, token] of Object.entries({ v1: one, v2: two })) {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, "tokens"), line(version, token), { mode: 0o600 });
    }
    await symlink("v1", join(folder, "data"));
    await start();
    expect(await ask(one)).toBe("v1");
    await symlink("v2", join(folder, "data.new"));
    await rename(join(folder, "data.new"), join(folder, "data"));
    expect(await askLater(two)).toBe("v2");
    expect(await ask(one)).toBe("unknown");
  });

  test("rejects all tokens of a deleted file, reports that, and accepts them when it is back", async () => {
    await startWith({ ada: one, bob: two });
    await rm(file);
    expect(await askLater(one)).toBe("unknown");
    expect(await ask(two)).toBe("unknown");
    expect(problems).toEqual([
      `${file}: is gone, so its 2 tokens are rejected; restore the file or create tokens`,
    ]);
    await save(line("ada", one));
    expect(await askLater(one)).toBe("ada");
    // So is one that was emptied. One without a token is missed by nobody.
    await save("# none yet\n");
    await askLater(one);
    await rm(file);
    expect(await askLater(one)).toBe("unknown");
    expect(problems.slice(1)).toEqual([expect.stringMatching(/has no valid token left, so its 1/)]);
  });
});

describe("a file that becomes invalid", () => {
  const malformed = expect.stringMatching(/tokens: line \d cannot be understood.*you fix it$/);

  test("revokes but never adds; once fixed, it adds again", async () => {
    await startWith({ ada: one, bob: two });
    // A name gets no other token either.
    await save(`${line("bob", two)}oops\n${line("cal", three)}${line("ada", four)}`);
    expect(await askLater(one)).toBe("unknown");
    expect(await ask(two)).toBe("bob");
    for (const added of [three, four]) expect(await ask(added)).toBe("unknown");
    expect(problems).toEqual([malformed]);
    await save(line("bob", two) + line("cal", three));
    expect(await askLater(three)).toBe("cal");
    expect(problems).toHaveLength(1);
  });

  test.each<[what: string, spoil: () => Promise<unknown>, message: RegExp]>([
    ["writable by others", () => chmod(file, 0o666), /other users can write it.*stay/],
    ["too large", () => appendFile(file, "#".repeat(2 ** 20)), /larger than.*stay valid/],
    ["a folder", () => rm(file).then(() => mkdir(file)), /not a regular file.*stay valid/],
  ])(
    "that cannot be read (%s) changes nothing, and is reported once each time",
    async (_what, spoil, message) => {
      await startWith({ ada: one });
      await spoil();
      for (let n = 0; n < 3; n++) expect(await askLater(one)).toBe("ada");
      expect(problems).toEqual([expect.stringMatching(message)]);
      await rm(file, { recursive: true });
      expect(await askLater(one)).toBe("unknown");
      await save(line("ada", one));
      expect(await askLater(one)).toBe("ada");
      await spoil();
      await askLater(one);
      expect(problems.filter((problem) => message.test(problem))).toHaveLength(2);
    },
  );
});

/** Verified tokens are cached. The cache must never outlive their validity. */
describe("a token in use", () => {
  test.each<[what: string, change: () => Promise<unknown>]>([
    ["is revoked beside a slip", () => appendFile(file, "oops\nrevoke ada 2026-01-02T03:04:05Z\n")],
    ["is in a file that becomes malformed without it", () => save(`${line("bob", two)}oops\n`)],
    ["has another token under its name", () => save(line("ada", three) + line("bob", two))],
    ["is replaced by one that begins with it", () => save(line("ada", `${one}x`))],
  ])("and %s is unknown from then on", async (_what, change) => {
    await startWith({ ada: one, bob: two });
    expect(await Promise.all([one, two].map(ask))).toEqual(["ada", "bob"]);
    await change();
    expect(await askLater(one)).toBe("unknown");
    expect(await ask(one)).toBe("unknown");
  });

  test("does not admit anyone with a part of it, its digest, or another spelling", async () => {
    await startWith({ ada: one });
    expect(await ask(one)).toBe("ada");
    const digest = digestToken(one);
    const near = [
      ...Array.from(one, (_, length) => one.slice(0, length)),
      ...Array.from(one, (_, begin) => one.slice(begin + 1)),
      ...[`${one}=`, `${one}.`, one + one, one.toUpperCase(), "ada", "tokens#1"],
      ...[digest.toString("hex"), digest.toString("base64url"), digest.toString("latin1")],
    ];
    expect(new Set(await Promise.all(near.map(ask)))).toEqual(new Set(["unknown"]));
    expect(await ask(one)).toBe("ada");
  });

  test("is cached, but tokens of strangers are not: they cost no memory", async () => {
    await startWith({ ada: one });
    const collect = openCollector();
    const usedAfter = (count: number): number => {
      for (let n = 0; n < count; n++) void verifier.verify(`${"x".repeat(4000)}${n}`);
      collect();
      return process.memoryUsage().heapUsed;
    };
    const before = usedAfter(100);
    // Of 40 MB of tokens, a tenth would be a leak.
    expect(usedAfter(10_000) - before).toBeLessThan(4_000_000);
    expect(await ask(one)).toBe("ada");
  });
});

test("given tokens outlive every change of the file", async () => {
  await save(line("ada", three));
  await start(one);
  await rm(file);
  clock += 501;
  expect(verifier.verify(one), "does not wait for the file").toEqual(verified("tokens#1"));
  expect(await askLater(three)).toBe("unknown");
  expect(await ask(one)).toBe("tokens#1");
  expect(await readFile(file).catch(() => "gone")).toBe("gone");
});
