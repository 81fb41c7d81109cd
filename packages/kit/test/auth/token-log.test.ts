import { describe, expect, test } from "vitest";
import {
  formatTokenEvent,
  parseTokenLog,
  type TokenEvent,
  tornMark,
} from "../../src/auth/token-log.ts";

const digestA = "a".repeat(64);
const digestB = "b".repeat(64);
const at = "2026-01-02T03:04:05.678Z";
const createAda = `create ada ${digestA} ${at}`;
const createBob = `create bob ${digestB} ${at}`;
const createAdaAgain = `create ada ${digestB} ${at}`;
const revokeAda = `revoke ada ${at}`;

/** `name=first digit of the digest` of each live token. */
function live(text: string): string[] {
  return [...parseTokenLog(text).live.values()].map(({ name, digest }) => `${name}=${digest[0]}`);
}

test.each<[what: string, lines: readonly string[], live: readonly string[]]>([
  ["nothing", [], []],
  [
    "long names, and signs in them",
    [`create ${"a".repeat(64)} ${digestA} ${at}`, `create CI.deploy_2-b ${digestB} ${at}`],
    [`${"a".repeat(64)}=a`, "CI.deploy_2-b=b"],
  ],
  ["a revocation", [createAda, createBob, revokeAda], ["bob=b"]],
  ["a creation of a name that is live", [createAda, createAdaAgain], ["ada=a"]],
  ["a revocation of what lost that race", [createAda, createAdaAgain, revokeAda], []],
  ["a creation of a name that was revoked", [createAda, revokeAda, createAdaAgain], ["ada=b"]],
  ["a time in nanoseconds", [`create ada ${digestA} ${at.replace("Z", "901234Z")}`], ["ada=a"]],
  ["a revocation of nothing", [revokeAda, createAda], ["ada=a"]],
  ["one digest under two names", [createAda, `create bob ${digestA} ${at}`], ["ada=a", "bob=a"]],
  ["comments and empty lines", ["# create eve", "", "  # x", " ", createAda], ["ada=a"]],
  ["a byte order mark", [`\ufeff${createAda}`], ["ada=a"]],
  ["the line ends of Windows", [`${createAda}\r`, "\r", `${createBob}\r`], ["ada=a", "bob=b"]],
  ["a torn line that was marked", [`create ad${tornMark.trimEnd()}`, createBob], ["bob=b"]],
])("%s is parsed", (_what, lines, expected) => {
  const text = lines.map((line) => `${line}\n`).join("");
  expect(live(text)).toEqual(expected);
  expect(parseTokenLog(text).badLines).toEqual([]);
});

const badLines = [
  "create ada",
  `create ada ${digestA}a ${at}`,
  `create ${"a".repeat(65)} ${digestA} ${at}`,
  `create ada ${digestA} 2026-01-02`,
  `create ada ${digestA} ${at} # comment`,
  `create\tada\t${digestA}\t${at}`,
  `revoke ada ${at} x`,
  createAda + createBob,
  "\0\0\0\0",
];
test.each(badLines)("the line %j is bad, and nothing else is", (line) => {
  const log = parseTokenLog(`${createAda}\n${line}\n${createBob}\n`);
  expect(log.badLines).toEqual([2]);
  expect([...log.live.keys()]).toEqual(["ada", "bob"]);
});

test.each(["secret", "crea te"])("%j is no event that was cut short", (line) =>
  expect(parseTokenLog(line).badLines).toEqual([1]),
);

describe("an incomplete last line", () => {
  const events: readonly TokenEvent[] = [
    { kind: "create", name: "ada", digest: digestA, createdAt: at },
    { kind: "create", name: "ad", digest: digestB, createdAt: at },
    { kind: "revoke", name: "ada", at },
    { kind: "create", name: "ada", digest: digestB, createdAt: at },
    { kind: "revoke", name: "ad", at },
  ];
  const textOf = (count?: number) => events.slice(0, count).map(formatTokenEvent).join("");
  const text = textOf();
  /** The live tokens after each number of events. */
  const states = [...events.keys(), events.length].map((count) => live(textOf(count)));

  test("is no event or the complete event, wherever it was cut, and harms nothing behind it", () => {
    const next = formatTokenEvent({ kind: "create", name: "eve", digest: digestA, createdAt: at });
    for (let cut = 0; cut <= text.length; cut++) {
      const part = text.slice(0, cut);
      const finished = part.split("\n").length - 1;
      // An event cut just before its line break is complete.
      const whole = text[cut] === "\n" ? finished + 1 : finished;
      expect(live(part), `cut at ${cut}`).toEqual(states[whole]);
      const mended = part + parseTokenLog(part).tail + next;
      expect(live(mended), `cut at ${cut}`).toEqual([...live(part), "eve=a"]);
      for (const one of [part, mended, `${part}\0`])
        expect(parseTokenLog(one).badLines).toEqual([]);
    }
  });

  test("that was still being written, and is marked by two other writers, is not undone", () => {
    for (let cut = 0; cut <= text.length; cut++) {
      const { tail } = parseTokenLog(text.slice(0, cut));
      const crowded = `${text}${tail}${createBob}\n${tail}${createBob}\n`;
      expect(live(crowded), `cut at ${cut}`).toEqual(["ada=b", "bob=b"]);
      expect(parseTokenLog(crowded).badLines, `cut at ${cut}`).toEqual([]);
    }
  });
});
