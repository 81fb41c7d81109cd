import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openStore } from "../../src/store/open.ts";
import { readValue } from "../../src/store/sqlite/driver.ts";
import { readRows } from "../support/sqlite-rows.ts";
import { plantOf } from "./plant-of.ts";
import { expectKept } from "./suite.ts";
import { temporaryFolder } from "./temporary.ts";

const child = fileURLToPath(new URL("./kill-child.ts", import.meta.url));

test("every plant confirmed before a SIGKILL is stored", { timeout: 60_000 }, async () => {
  const url = `sqlite:${join(await temporaryFolder(), "data", "plants.db")}`;
  const confirmed = new Set<bigint>();
  for (let round = 0; round < 3; round++) {
    // 0: while the store is being opened or created.
    const confirmations = round === 0 ? 0 : Math.floor(Math.random() * 3000);
    await creates(url, round, confirmations, confirmed);
    const store = await openStore(url);
    const db = new DatabaseSync(url.slice("sqlite:".length), {
      readOnly: true,
      timeout: 5000,
    });
    const find = (id: bigint) =>
      readRows(db, "SELECT id, name, tag FROM plants WHERE id = ?", id)[0];
    for (const id of confirmed) {
      const { tag, ...plant } = plantOf(id);
      const lost = `${confirmations} confirmations into round ${round}`;
      expect(find(id), lost).toEqual({ ...plant, tag: tag ?? null });
    }
    expect(readValue(db, "PRAGMA integrity_check")).toBe("ok");
    db.close();
    for (const id of [...confirmed].slice(-100)) await expectKept(store, plantOf(id));
    await store.close();
  }
  expect(confirmed.size).toBeGreaterThan(0);
});

/** Runs a process that creates plants, and kills it after this many confirmations. */
async function creates(url: string, round: number, confirmations: number, confirmed: Set<bigint>) {
  const running = spawn(process.execPath, [child, url, String(round)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(running, "close");
  let left = confirmations;
  for await (const line of createInterface({ input: running.stdout })) {
    if (line !== "opening") {
      confirmed.add(BigInt(line));
      left--;
    }
    if (left <= 0) running.kill("SIGKILL");
  }
  const [, signal] = await ended;
  expect(signal).toBe("SIGKILL");
}
