/**
 * Another program works on the file of an SQLite store, while a server is used, stopped, killed and
 * started: it reads, writes, locks, copies, moves and replaces. No confirmed plant may be lost, no
 * start, create or stop prevented by a reader, and no copy called sound that is not.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { within } from "../../packages/gateway/test/support/within.ts";
import { spawnChild } from "../support/child.ts";
import type { ChildServer } from "../support/child-server.ts";
import { lockStore } from "../support/locked-store.ts";
import { sqliteKind } from "../support/store-place.ts";
import { readStoredPlants } from "../support/stored-plants.ts";
import type { Campaign } from "./campaign.ts";
import { checkSqlite } from "./history/integrity.ts";
import { type Service, underLoad } from "./kill.ts";
import { openCallers } from "./load/caller.ts";
import { createClients, type Load, openLoad } from "./load/load.ts";
import { ownIds, randomPlant } from "./load/plants.ts";
import { createRandom } from "./random.ts";
import { endOf, patienceMs, startServer } from "./server.ts";

/** A server notices moved files within 2 s, and drains. */
const noticeMs = 30_000;

/** Long, because kills end requests. */
const deadlinesMs = [8000, 10_000] as const;

export const beside: Campaign = {
  name: "beside",
  async run(run) {
    const programs = { ...acts, ...(hasLitestream && litestream) };
    if (!hasLitestream) run.skip("Litestream: it is not on the path");
    for (let number = 0; number === 0 || (run.found.length === 0 && !run.isOver()); number++) {
      await using place = await sqliteKind.open();
      await using folder = await createTemporaryFolder();
      const random = createRandom(run.seed, `beside ${number}`);
      const clients = createClients({ count: 12, seed: run.seed + number, deadlinesMs });
      const database = place.url.replace("sqlite:", "");
      const service = { ...{ place, database, random, clients }, cwd: folder.path };
      let left: Disposable | undefined;
      for (const [name, act] of random.shuffle(Object.entries(programs))) {
        if (run.found.length > 0) break;
        await run.attempt(name, () =>
          underLoad(service, async (server, load) => {
            await load.untilStored(random.int(1, 50));
            left?.[Symbol.dispose]();
            const site = { ...service, server, load };
            left = await act(site);
            await end(site);
          }),
        );
        run.count(name);
      }
      left?.[Symbol.dispose]();
      await run.attempt("at the end", () => underLoad(service, (_, load) => load.settle()));
      await clients.recorder.judge(run, "SQLite", place);
      run.log(`${number + 1} stores`);
    }
  },
};

interface Site extends Service {
  readonly database: string;
  readonly server: ChildServer;
  readonly load: Load;
}

/** Ends the server, unless it has ended. */
async function end({ random, server, load }: Site): Promise<void> {
  if (server.process.exitCode !== null || server.process.signalCode !== null) return;
  await load.untilStored(random.int(1, 50));
  const signal = random.pick(["SIGKILL", "SIGTERM"] as const);
  server.process.kill(signal);
  void load.stop();
  if (signal === "SIGKILL") await within("the end of the server", server.exited, patienceMs);
  else fail(await endOf(server));
}

/** What another program does. @returns What stays until the next server has started. */
type Act = (site: Site) => Promise<Disposable | undefined>;

const acts: Readonly<Record<string, Act>> = {
  async reads({ database }) {
    const db = open(database);
    db.exec("BEGIN; SELECT count(*) FROM plants");
    return db;
  },
  async writes({ database, random, clients: { recorder } }) {
    using db = open(database);
    const insert = db.prepare("INSERT INTO plants (id, name, tag) VALUES (?, ?, ?)");
    // Otherwise `run` throws after inserting an id beyond 2^53.
    insert.setReadBigInts(true);
    const takeId = ownIds(random.int(1000, 2 ** 30));
    for (let count = random.int(1, 30); count > 0; count--) {
      const plant = randomPlant(takeId(), random);
      const asked = { client: "another program", plant, deadlineMs: deadlinesMs[1] };
      await recorder.request(asked, async () => {
        insert.run(plant.id, plant.name, plant.tag ?? null);
        const { id: _, ...answer } = plant;
        return { kind: "stored", answer };
      });
      await delay(random.int(0, 10));
    }
    return undefined;
  },
  async locks({ database, random }) {
    using _lock = lockStore(database);
    await delay(random.int(100, 7000));
    return undefined;
  },
  async checkpoints({ database, random }) {
    using db = open(database);
    for (const mode of random.shuffle(["FULL", "RESTART", "TRUNCATE"])) {
      db.exec(`PRAGMA wal_checkpoint(${mode})`);
      await delay(random.int(0, 50));
    }
    return undefined;
  },
  async vacuums({ database }) {
    using db = open(database);
    db.exec("VACUUM");
    return undefined;
  },
  async copies(site) {
    await using folder = await createTemporaryFolder();
    await promisify(execFile)("cp", [site.database, `${site.database}-wal`, folder.path]);
    const copy = join(folder.path, "plants.db");
    const { code, stderr } = await command(site, ["check", "--store", `sqlite:${copy}`]);
    if ((code === 0) !== isSound(copy)) fail([`check of a copy ended with ${code}: ${stderr}`]);
    return undefined;
  },
  async "backs up"(site) {
    await using folder = await createTemporaryFolder();
    const file = join(folder.path, "backup.db");
    await site.clients.recorder.read({
      async read() {
        const { code, stderr } = await command(site, ["backup", file, "--store", site.place.url]);
        if (code !== 0) fail([`the backup ended with ${code}: ${stderr}`]);
        return readStoredPlants(file);
      },
    });
    return undefined;
  },
  async "serves, too"(site) {
    const { cwd, place, random } = site;
    const { recorder } = site.clients;
    const [seed, first] = [random.int(0, 2 ** 30), random.int(1000, 2 ** 30)];
    const clients = createClients({ count: 4, seed, first, recorder, deadlinesMs });
    await using server = await startServer({ cwd, args: ["--store", place.url] });
    using callers = openCallers([server.url]);
    await using load = openLoad(clients, callers);
    await end({ ...site, server, load });
    return undefined;
  },
  "moves the file": (site) => move(site, "", false),
  "moves -wal": (site) => move(site, "-wal", false),
  "moves -shm": (site) => move(site, "-shm", false),
  "replaces the file": (site) => move(site, "", true),
  "replaces -wal": (site) => move(site, "-wal", true),
  "replaces -shm": (site) => move(site, "-shm", true),
};

const hasLitestream = spawnSync("litestream", ["version"]).status === 0;

const litestream: Readonly<Record<string, Act>> = {
  async "replicates with Litestream"({ database, cwd, clients, random }) {
    const replica = `file://${join(cwd, `replica-${random.int(0, 2 ** 30)}`)}`;
    const copy = `${replica.slice("file://".length)}.db`;
    const child = spawn("litestream", ["replicate", database, replica], { stdio: "ignore" });
    await clients.recorder.read({
      async read() {
        // It syncs every second.
        await delay(5000);
        await promisify(execFile)("litestream", ["restore", "-o", copy, replica]);
        return readStoredPlants(copy);
      },
    });
    return { [Symbol.dispose]: () => void child.kill(random.pick(["SIGKILL", "SIGTERM"])) };
  },
};

/** Puts the file back once the server has ended. */
async function move(site: Site, suffix: string, isReplaced: boolean): Promise<undefined> {
  const { database, place, random, server, load } = site;
  const file = `${database}${suffix}`;
  const kept = `${file}.kept`;
  renameSync(file, kept);
  if (isReplaced) await promisify(execFile)("cp", [kept, file]);
  if (random.chance(0.3)) server.process.kill("SIGKILL");
  const { code } = await within("the end of the server", server.exited, noticeMs);
  void load.stop();
  if (code === 0) fail([`the server ended with 0, although its ${suffix || "file"} was moved`]);
  if (suffix === "" && !isReplaced) {
    // A service manager starts it at once.
    const { code, stderr } = await command(site, ["serve", "--port", "0", "--store", place.url]);
    if (code !== 1 || !stderr.includes("may hold confirmed plants"))
      fail([`a start without the file ended with ${code}: ${stderr}`]);
  }
  renameSync(kept, file);
}

function open(database: string): DatabaseSync {
  return new DatabaseSync(database, { timeout: 5000 });
}

function isSound(database: string): boolean {
  try {
    return checkSqlite(database).length === 0;
  } catch {
    return false;
  }
}

async function command({ cwd }: Site, args: readonly string[]) {
  await using child = spawnChild(args, { cwd });
  const { code } = await within(`the end of ${args[0]}`, child.exited, patienceMs);
  return { code, stderr: child.stderr.text };
}

function fail(lines: readonly string[]): void {
  if (lines.length > 0) throw new Error(lines.join("\n"));
}
