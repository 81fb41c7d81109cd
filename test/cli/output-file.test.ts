import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openOutputFile } from "../../src/cli/output-file.ts";
import { temporaryFolder } from "../store/temporary.ts";

test("two at once, of processes with one number as in containers, leave each other alone", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "out.csv");
  {
    await using first = await openOutputFile(path);
    await using second = await openOutputFile(path);
    await first.write(Buffer.from("first"));
    await second.write(Buffer.from("second"));
    await first.commit();
    expect(await readFile(path, "utf8")).toBe("first");
  }
  expect(await readFile(path, "utf8")).toBe("first");
  expect(await readdir(folder)).toEqual(["out.csv"]);
});

test("its name may be long", async () => {
  const folder = await temporaryFolder();
  const name = "n".repeat(230);
  await using file = await openOutputFile(join(folder, name));
  await file.write(Buffer.from("whole"));
  await file.commit();
  expect(await readFile(join(folder, name), "utf8")).toBe("whole");
});
