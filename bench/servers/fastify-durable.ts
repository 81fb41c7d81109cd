/**
 * `POST /plants` on Fastify, durable in SQLite before the answer. Requests that arrive together are
 * committed together, on the HTTP thread. `fastify-durable.ts DATABASE`, with the token in
 * `PEER_TOKEN`.
 */
import { timingSafeEqual } from "node:crypto";
import { DatabaseSync } from "node:sqlite";
import { fastify } from "fastify";
import { announceUrl } from "./announce.ts";

interface NewPlant {
  readonly id: number;
  readonly name: string;
  readonly tag?: string;
}

interface Waiting {
  readonly plant: NewPlant;
  readonly resolve: (isStored: boolean) => void;
  readonly reject: (error: unknown) => void;
}

const db = new DatabaseSync(process.argv[2] ?? "");
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA wal_autocheckpoint = 4000;
  CREATE TABLE IF NOT EXISTS plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT`);
const insert = db.prepare("INSERT INTO plants VALUES (?, ?, ?) ON CONFLICT DO NOTHING");
const find = db.prepare("SELECT 1 FROM plants WHERE id = ? AND name = ? AND tag IS ?");

const waitingMax = 16_384;
let waiting: Waiting[] = [];

/** Resolves when the plant is on disk, or with false if its id belongs to another. */
function create(plant: NewPlant): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // In the next phase of the event loop, after everything that has arrived was read.
    if (waiting.push({ plant, resolve, reject }) === 1) setImmediate(commit);
  });
}

function commit(): void {
  const batch = waiting;
  waiting = [];
  try {
    db.exec("BEGIN IMMEDIATE");
    const stored = batch.map(({ plant }) => put(plant));
    db.exec("COMMIT");
    for (const [index, { resolve }] of batch.entries()) resolve(stored[index] ?? false);
  } catch (error) {
    // Some failures roll back by themselves.
    if (db.isTransaction) db.exec("ROLLBACK");
    for (const { reject } of batch) reject(error);
  }
}

function put({ id, name, tag }: NewPlant): boolean {
  const storedTag = tag ?? null;
  return (
    insert.run(id, name, storedTag).changes === 1 || find.get(id, name, storedTag) !== undefined
  );
}

const authorization = Buffer.from(`Bearer ${process.env["PEER_TOKEN"]}`);

function isAuthorized(value = ""): boolean {
  const bytes = Buffer.from(value);
  return bytes.length === authorization.length && timingSafeEqual(bytes, authorization);
}

const text = { type: "string", pattern: "^[^\\u0000]*$" } as const;
const safeInteger = {
  type: "integer",
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
} as const;

const app = fastify();
app.setErrorHandler<Error & { statusCode?: number }>((error, _request, reply) =>
  reply.code(error.statusCode ?? 500).send({ error: 3, message: error.message }),
);
app.post<{ Body: NewPlant }>(
  "/plants",
  {
    schema: {
      body: {
        type: "object",
        required: ["id", "name"],
        additionalProperties: false,
        properties: { id: safeInteger, name: text, tag: text },
      },
      response: {
        200: { type: "object", required: ["name"], properties: { name: text, tag: text } },
      },
    },
    onRequest: async ({ headers }, reply) => {
      if (isAuthorized(headers.authorization)) return;
      return reply.code(401).send({ error: 16, message: "a valid bearer token is required" });
    },
  },
  async ({ body }, reply) => {
    if (waiting.length >= waitingMax) {
      return reply.code(503).send({ error: 8, message: "too many plants are waiting" });
    }
    if (await create(body)) return body;
    return reply.code(400).send({ error: 6, message: "another plant has this id" });
  },
);
announceUrl(await app.listen({ host: "127.0.0.1", port: 0 }));
