/**
 * The list of what commands and the page say to people: a change shows among all others. To change
 * it: `npm test -- test/cli/messages.test.ts -u`.
 */
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const rooms = [
  ...["src/cli/*.ts", "src/transfer/*.ts", "src/server/{settings.ts,*-url.ts,page/*.js}"],
  "packages/{kit,proxy}/src/{auth,cli,command,settings}/*.ts",
];
const literals = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
/** The notes of a command's help. */
const notes = /const notes = `\n(.*?)`;/s;

test("the messages are those of the list", async () => {
  const found = globSync(rooms).flatMap((file) => {
    const code = readFileSync(file, "utf8").replaceAll(/^ *(\/\*\*|\*|\/\/).*$/gm, "");
    const lines = code.replace(notes, "").split("\n");
    const texts = lines.flatMap((line) => line.match(literals) ?? []);
    return [...texts.map((text) => text.slice(1, -1)), ...(notes.exec(code)?.slice(1) ?? [])];
  });
  const messages = found.filter((text) => /[a-z]{2,}[,;:]? [a-z$]/i.test(text));
  const list = `${[...new Set(messages)].sort().join("\n")}\n`;
  await expect(list).toMatchFileSnapshot("messages.txt");
});
