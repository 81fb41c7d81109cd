/** What operators do to a service over months. */
import { rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https, { type RequestOptions } from "node:https";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";
import { within } from "../../../packages/gateway/test/support/within.ts";
import { knownToken } from "../../../packages/proxy/test/support/token-leaks.ts";
import { type ChildOptions, spawnChild } from "../../support/child.ts";
import { readStoredPlants } from "../../support/stored-plants.ts";
import { checkHistory } from "../history/check.ts";
import type { RequestOutcome } from "../history/history.ts";
import { linesOf } from "../history/recorder.ts";
import { ownIds, randomPlant } from "../load/plants.ts";
import type { Random } from "../random.ts";
import { patienceMs } from "../start-server.ts";
import { createToken, renewCertificate, type Services } from "./services.ts";

/** @returns a line for each broken promise. */
type Operation = (services: Services, turn: OperationContext) => Promise<readonly string[]>;

export interface OperationContext {
  readonly random: Random;
  /** The number of the operation, unique across all pieces. */
  readonly number: number;
  /** Aborts when clients start no new requests. */
  readonly over: AbortSignal;
}

const importedPlants = 200;

/** How often to check whether something has changed. */
const lookMs = 200;

export const operations: Readonly<Record<string, Operation>> = {
  /** Creates a new token and revokes the old one. */
  async tokens(services, { number }) {
    const old = services.tokens.opaque;
    services.tokens.opaque = await createToken(services.folder, `turn-${number}`);
    // Clients use it at once. Requests under way with the old token must not be rejected because of
    // it.
    await Promise.allSettled([...services.underWay]);
    const [name = ""] = services.tokens.names.splice(0, 1, `turn-${number}`);
    const { code, stderr } = await run(["token", "revoke", name, "--token-file", "data/tokens"], {
      cwd: services.folder,
    });
    if (code !== 0) return [`token revoke: ${stderr}`];
    await untilAll(services, "reject a revoked token", { token: old, status: 401 });
    return [];
  },

  async keys(services) {
    await services.issuer.addKey();
    const jwt = await services.issuer.sign();
    await untilAll(services, "accept a JWT of a new key", { token: jwt, status: 400 });
    services.tokens.jwt = jwt;
    await Promise.allSettled([...services.underWay]);
    services.issuer.removeOldKeys();
    return [];
  },

  async certificate({ folder, certificate, sqlite }) {
    const pem = renewCertificate(folder, certificate);
    const isServed = async () => (await isTrusted(sqlite.server.url, pem)) === true;
    await until("the renewed certificate is served", isServed);
    return [];
  },

  async import({ folder, tokens, certificate, sqlite }, { random, number }) {
    const takeId = ownIds(1_000_000 + number);
    const plants = Array.from({ length: importedPlants }, () => randomPlant(takeId(), random));
    const file = join(folder, "import.ndjson");
    const lines = plants.map((plant) => JSON.stringify({ ...plant, id: String(plant.id) }));
    writeFileSync(file, `${lines.join("\n")}\n`);
    const env = { PLANT_STORE_TOKEN: tokens.opaque, NODE_EXTRA_CA_CERTS: certificate.certFile };
    const imported = run(["import", file, "--url", sqlite.server.url], { cwd: folder, env });
    await Promise.all(
      plants.map((plant) =>
        sqlite.recorder.request({ client: "import", plant, deadlineMs: patienceMs }, async () => {
          const { id: _, ...answer } = plant;
          const isStored = (await imported).code === 0;
          const outcome = isStored ? { kind: "stored", answer } : { kind: "unknown", why: "cut" };
          return outcome as RequestOutcome;
        }),
      ),
    );
    const { code, stderr } = await imported;
    return code === 0 ? [] : [`import ended with ${code}: ${stderr}`];
  },

  /** It must contain what was acknowledged before it began. */
  async backup({ folder, sqlite }) {
    const file = join(folder, "backup.db");
    const startMs = performance.now();
    const { code, stderr } = await run(["backup", file, "--force", "--store", sqlite.url], {
      cwd: folder,
    });
    const endMs = performance.now();
    if (code !== 0) return [`backup ended with ${code}: ${stderr}`];
    const reads = [{ startMs, endMs, rows: readStoredPlants(file) }];
    rmSync(file);
    const settled = sqlite.recorder.requests.filter((asked) => asked.outcome.kind === "stored");
    const lost = checkHistory({ requests: settled, reads }).filter(
      ({ kind }) => kind !== "unasked" && kind !== "late",
    );
    return linesOf(lost, "the backup");
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
    const code = await postgres.second.drain();
    postgres.second = await postgres.startSecond();
    return code === 0 ? [] : [`${postgres.second.name}: drained with exit code ${code}`];
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

  /** Invalid and unauthorized requests: each is rejected with its own status. */
  async rejections({ sqlite, tokens }) {
    const { url } = sqlite.server;
    const token = tokens.opaque;
    const wanted: [name: string, status: number, answered: Promise<number>][] = [
      ["no plant", 400, ask(url, token)],
      ["an unknown token", 401, ask(url, knownToken)],
      ["no JSON", 400, ask(url, token, { body: "{" })],
      ["another method", 405, ask(url, token, { method: "DELETE" })],
      ["another path", 404, ask(url, token, { path: "/nothing" })],
      ["another type", 415, ask(url, token, { headers: { "content-type": "text/csv" } })],
    ];
    const wrong: string[] = [];
    for (const [name, status, answered] of wanted) {
      const got = await answered;
      if (got !== status) wrong.push(`${name} got ${got}, not ${status}`);
    }
    return wrong;
  },
};

/** Runs a command to its end. */
async function run(args: readonly string[], options: ChildOptions) {
  await using child = spawnChild(args, options);
  const { code } = await within(`the end of plant-store ${args[0]}`, child.exited, patienceMs);
  return { code, stderr: child.stderr.text };
}

/** The status of a request that contains no plant. */
async function ask(
  url: string,
  token: string,
  { body = "{}", headers, ...options }: RequestOptions & { readonly body?: string } = {},
): Promise<number> {
  const status = Promise.withResolvers<number>();
  const { request } = url.startsWith("https:") ? https : http;
  const asked = request(url, {
    ...{
      method: "POST",
      path: "/plants",
      agent: false,
      rejectUnauthorized: false,
      timeout: patienceMs,
    },
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
    ...options,
  });
  asked.once("error", status.reject);
  asked.once("response", (response) => {
    response.resume();
    status.resolve(response.statusCode ?? 0);
  });
  asked.end(body);
  return await status.promise;
}

async function isTrusted(url: string, pem: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  const answer = Promise.withResolvers<boolean>();
  const socket = connect({ host: hostname, port: Number(port), ca: pem });
  socket.once("secureConnect", () => answer.resolve(true));
  socket.once("error", () => answer.resolve(false));
  const isTrusted = await answer.promise;
  socket.destroy();
  return isTrusted;
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
