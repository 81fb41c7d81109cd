/** What operators do to a service over months. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { exchange } from "../../../packages/gateway/test/support/exchange.ts";
import { runChild } from "../../support/child.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { checkHistory, type RequestOutcome } from "../history/check.ts";
import { linesOf } from "../history/recorder.ts";
import { ownIds, randomPlant } from "../load/plants.ts";
import { openSender } from "../load/sender.ts";
import type { Random } from "../random.ts";
import { patienceMs } from "../server.ts";
import { createToken, renewCertificate, type Services } from "./services.ts";

/** @returns a line for each broken promise. */
type Operation = (
  services: Services,
  /** The number is unique. `over` aborts when clients start no new requests. */
  turn: { readonly random: Random; readonly number: number; readonly over: AbortSignal },
) => Promise<readonly string[]>;

const importedPlants = 200;

/** How often to check whether something has changed. */
const lookMs = 200;

export const operations: Readonly<Record<string, Operation>> = {
  /** Creates a new token and revokes the old one. */
  async tokens(services, { number }) {
    const old = services.tokens.opaque;
    const newName = `turn-${number}`;
    services.tokens.opaque = await createToken(services.folder, newName);
    // Clients use it at once. Requests under way with the old token must not be rejected because of
    // it.
    await untilAnswered(services);
    const { name } = services.tokens;
    services.tokens.name = newName;
    const { code, stderr } = await run(services, ["token", "revoke", name]);
    if (code !== 0) return [`token revoke: ${stderr}`];
    await untilAll(services, "reject a revoked token", { token: old, status: 401 });
    return [];
  },

  async keys(services) {
    await services.issuer.addKey();
    const jwt = await services.issuer.sign();
    await untilAll(services, "accept a JWT of a new key", { token: jwt, status: 400 });
    services.tokens.jwt = jwt;
    await untilAnswered(services);
    services.issuer.removeOldKeys();
    return [];
  },

  async certificate({ folder, certificate, sqlite }) {
    const ca = renewCertificate(folder, certificate);
    const request = { origin: sqlite.server.url, path: "/healthz", method: "GET", ca } as const;
    await until("the renewed certificate is served", () =>
      exchange({ ...request, version: "1.1" }).then(
        () => true,
        () => false,
      ),
    );
    return [];
  },

  async import(services, { random, number }) {
    const { folder, sqlite } = services;
    const takeId = ownIds(1_000_000 + number);
    const plants = Array.from({ length: importedPlants }, () => randomPlant(takeId(), random));
    const file = join(folder, "import.ndjson");
    const lines = plants.map((plant) => JSON.stringify({ ...plant, id: String(plant.id) }));
    writeFileSync(file, `${lines.join("\n")}\n`);
    const imported = run(services, ["import", file, "--url", sqlite.server.url]);
    const asked = { client: "import", deadlineMs: patienceMs };
    await Promise.all(
      plants.map((plant) =>
        sqlite.recorder.request({ ...asked, plant }, async (): Promise<RequestOutcome> => {
          const { id: _, ...answer } = plant;
          if ((await imported).code === 0) return { kind: "stored", answer };
          return { kind: "unknown", why: "cut" };
        }),
      ),
    );
    const { code, stderr } = await imported;
    return code === 0 ? [] : [`import ended with ${code}: ${stderr}`];
  },

  /** It must contain what was acknowledged before it began. */
  async backup(services) {
    const { folder, sqlite } = services;
    const file = join(folder, "backup.db");
    const startMs = performance.now();
    const args = ["backup", file, "--force", "--store", sqlite.url];
    const { code, stderr } = await run(services, args);
    const endMs = performance.now();
    if (code !== 0) return [`backup ended with ${code}: ${stderr}`];
    const reads = [{ startMs, endMs, rows: readStoredPlants(file) }];
    rmSync(file);
    const requests = sqlite.recorder.requests.filter(({ outcome }) => outcome.kind === "stored");
    const broken = checkHistory({ requests, reads });
    return linesOf(broken.filter(({ kind }) => kind !== "unasked" && kind !== "late"));
  },

  async logs({ sqlite, postgres }) {
    return [
      ...sqlite.server.rotateLog("no complaints"),
      // Its database is stopped from time to time, so complaints about that are allowed.
      ...postgres.server.rotateLog("any"),
      ...postgres.second.rotateLog("any"),
    ];
  },

  async drain({ postgres }) {
    const wrong = await postgres.second.drain();
    postgres.second = await postgres.startSecond();
    return wrong;
  },

  async postgres({ postgres }, { random, over }) {
    await postgres.database.stop(random.pick(["fast", "immediate"] as const));
    await postgres.database.start();
    const before = postgres.recorder.stored;
    const isBack = () => postgres.recorder.stored > before;
    // The clients may have left: `finish` checks every answer.
    await until("PostgreSQL stores plants again", async () => isBack() || over.aborted);
    return [];
  },
};

/** Runs a command to its end, with the clients' token. */
function run({ folder, tokens, certificate }: Services, args: readonly string[]) {
  const env = { PLANT_STORE_TOKEN: tokens.opaque, NODE_EXTRA_CA_CERTS: certificate.certFile };
  const all = args[0] === "token" ? [...args, "--token-file", "data/tokens"] : args;
  return runChild(all, { cwd: folder, env });
}

/** The status of a request that contains no plant, on a connection of its own. */
async function ask(url: string, token: string): Promise<number> {
  using sender = openSender("1.1", url);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const signal = AbortSignal.timeout(patienceMs);
  return (await sender.send({ path: "/plants", headers, body: Buffer.from("{}"), signal })).status;
}

/** Until all requests have ended that clients had begun. */
async function untilAnswered({ sqlite, postgres }: Services): Promise<void> {
  await Promise.all([sqlite, postgres].map(({ load }) => load.restDuring(async () => {})));
}

/** Each server checks for itself when it has a reason. */
async function untilAll(
  { sqlite, postgres }: Services,
  what: string,
  { token, status }: { readonly token: string; readonly status: number },
): Promise<void> {
  for (const { name, url } of [sqlite.server, postgres.server, postgres.second]) {
    await until(`${name}: ${what}`, async () => (await ask(url, token)) === status);
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${patienceMs} ms`);
    await delay(lookMs);
  }
}
