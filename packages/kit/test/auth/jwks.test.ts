import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { type KeySet, openKeySet } from "../../src/auth/jwks.ts";
import { createSigningKey, type SigningKey } from "../support/auth/issuer.ts";
import {
  type KeyServer,
  keySetOf,
  silence,
  startKeyServer,
  status,
  text,
} from "../support/auth/key-server.ts";

let old: SigningKey;
let rotated: SigningKey;
let problems: string[];
/** The clock of the key set, in milliseconds. */
let now: number;

beforeAll(async () => {
  old = await createSigningKey("ES256", "old");
  rotated = await createSigningKey("ES256", "rotated");
});

beforeEach(() => {
  problems = [];
  now = 1_000_000;
});

function openKeys({ url }: KeyServer, timeoutMs = 60_000): KeySet {
  const report = (message: string) => problems.push(message);
  return openKeySet({ url, report, now: () => now, timeoutMs });
}

/** The kids that the key set finds a key for now. */
async function kids(keys: KeySet): Promise<string[] | "none"> {
  if (!(await keys.isReady())) return "none";
  const found = await Promise.all(
    [old, rotated].map(({ alg, kid }) =>
      Promise.resolve(keys.resolve({ alg, kid }, { payload: "", signature: "" })).then(
        () => [kid],
        () => [],
      ),
    ),
  );
  return found.flat();
}

/** The old key is in use. */
async function openWithOld(timeoutMs?: number) {
  const server = await startKeyServer(keySetOf(old.jwk));
  const keys = openKeys(server, timeoutMs);
  expect(await kids(keys)).toEqual(["old"]);
  return { server, keys };
}

/** Asks like a token with an unknown key. */
async function ask(keys: KeySet): Promise<boolean> {
  if (!(await keys.isReady())) throw new Error("there are no keys");
  return await keys.hasNewerThan(keys.version);
}

const n = Buffer.alloc(256, 0xff).toString("base64url");
const weak = { kty: "RSA", kid: "weak", e: "AQ", n };
const told =
  /^the key set http:\/\/127\S+\/keys: the RSA key "weak" has the exponent 1; it is not used$/;

test("a weak key is reported once, and none above a hundred, however often its issuer renames it", async () => {
  const named = (fetch: string, count: number) =>
    Array.from({ length: count }, (_, i) => ({ ...weak, kid: `${fetch}-${i}` }));
  const server = await startKeyServer(keySetOf(old.jwk, weak));
  const keys = openKeys(server);
  expect(await kids(keys)).toEqual(["old"]);
  await keys.reload();
  expect(server.hits).toBe(2);
  expect(problems).toEqual([expect.stringMatching(told)]);
  for (const count of [98, 99]) {
    server.answer = keySetOf(old.jwk, ...named(`fetch ${count}`, count));
    await keys.reload();
    expect(problems).toHaveLength(count + 1);
  }
});

describe("the first fetch", () => {
  test("is waited for, and shared", async () => {
    const server = await startKeyServer(keySetOf(old.jwk));
    const keys = openKeys(server);
    expect(await Promise.all(Array.from({ length: 50 }, () => kids(keys)))).toEqual(
      Array.from({ length: 50 }, () => ["old"]),
    );
    expect(server.hits).toBe(1);
    expect(problems).toEqual([]);
  });

  test("is tried again a second later, if a token comes", async () => {
    const server = await startKeyServer(status(503));
    const keys = openKeys(server);
    expect(await kids(keys)).toBe("none");
    now += 999;
    expect(await kids(keys)).toBe("none");
    expect(server.hits).toBe(1);
    server.answer = keySetOf(old.jwk);
    now += 1;
    expect(await kids(keys)).toEqual(["old"]);
    expect(problems).toEqual([
      expect.stringMatching(/^the key set http:\/\/127\S+\/keys cannot be fetched: .*503.*no JWT/),
    ]);
  });
});

function zipped(bytes: number): RequestListener {
  const body = gzipSync(Buffer.alloc(bytes, " "));
  return (_request, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end(body);
}

function redirect(code: number): () => Promise<RequestListener> {
  return async () => {
    const elsewhere = await startKeyServer(keySetOf(rotated.jwk));
    onTestFinished(() => expect(elsewhere.hits).toBe(0));
    return status(code, { Location: elsewhere.url.href });
  };
}

/** A key set of exactly this size in bytes. */
function sized(bytes: number): RequestListener {
  const set = JSON.stringify({ keys: [rotated.jwk] });
  return text(set + " ".repeat(bytes - set.length));
}

/** Only for what ends by it; still long enough for good answers on a busy machine. */
const shortMs = 1500;

const badAnswers: readonly [
  what: string,
  answer: () => RequestListener | Promise<RequestListener>,
  message: RegExp,
  timeoutMs?: number,
][] = [
  ["is closed without an answer", () => (request) => request.socket.destroy(), /fetch failed/],
  ["says nothing", () => silence, /time/, shortMs],
  ["answers 404", () => status(404), /status 404/],
  ["redirects with 307", redirect(307), /status 307/],
  ["answers a web page", () => text("<html>"), /not JSON/],
  ["answers no keys", () => text("{}"), /not a key set/],
  ["answers keys that are no list", () => text('{"keys":{}}'), /not a key set/],
  ["answers an empty list", () => keySetOf(), /no key that can verify/],
  ["answers invalid UTF-8", () => (_, response) => response.end(Buffer.of(0xff)), /encoded data/],
  ["answers 101 keys", () => keySetOf(...Array(101).fill(rotated.jwk)), /more than 100 keys/],
  ["answers a byte too many", () => sized(256 * 1024 + 1), /larger than 262144 bytes/],
  ["answers 100 MB in a small gzip", () => zipped(100_000_000), /larger than 262144 bytes/],
];

describe("an endpoint that", () => {
  test.each(badAnswers)(
    "%s leaves the last good keys in use",
    async (_what, answer, message, timeoutMs) => {
      const { server, keys } = await openWithOld(timeoutMs);
      server.answer = await answer();
      now += 30_000;
      expect(await ask(keys)).toBe(false);
      expect(problems).toEqual([expect.stringMatching(message)]);
      expect(problems[0]).toMatch(/; the last good keys stay in use$/);
      expect(await kids(keys)).toEqual(["old"]);
      server.answer = keySetOf(rotated.jwk);
      now += 30_000;
      expect(await ask(keys)).toBe(true);
      expect(await kids(keys)).toEqual(["rotated"]);
    },
  );

  test.each<[what: string, answer: () => RequestListener]>([
    ["answers as many bytes as it may", () => sized(256 * 1024)],
    ["answers 100 keys", () => keySetOf(...Array(99).fill({ kty: "oct" }), rotated.jwk)],
    ["calls it text", () => (_, response) => response.end(JSON.stringify({ keys: [rotated.jwk] }))],
  ])("%s is accepted", async (_what, answer) => {
    expect(await kids(openKeys(await startKeyServer(answer())))).toEqual(["rotated"]);
    expect(problems).toEqual([]);
  });
});

test("tokens with an unknown key cause no fetch within 30 s of any other, however many there are", async () => {
  const { server, keys } = await openWithOld();
  now += 29_999;
  for (let n = 0; n < 1000; n++) expect(await ask(keys)).toBe(false);
  expect(server.hits).toBe(1);
  now += 1;
  expect(await Promise.all(Array.from({ length: 1000 }, () => ask(keys)))).not.toContain(false);
  for (let n = 0; n < 1000; n++) await ask(keys);
  expect(server.hits).toBe(2);
});

test("newer keys that arrived in the meantime need no fetch", async () => {
  const server = await startKeyServer(keySetOf(old.jwk));
  const keys = openKeys(server);
  await keys.isReady();
  const known = keys.version;
  await keys.reload();
  now += 30_000;
  expect(await keys.hasNewerThan(known)).toBe(true);
  expect(server.hits).toBe(2);
});

test("a reload brings the keys of now, also while an earlier fetch is under way", async () => {
  const server = await startKeyServer((request, response) => {
    server.answer = keySetOf(rotated.jwk);
    keySetOf(old.jwk)(request, response);
  });
  const keys = openKeys(server);
  await Promise.all([keys.reload(), keys.reload()]);
  expect(await kids(keys)).toEqual(["rotated"]);
  expect(server.hits).toBe(2);
});

describe("time", () => {
  const minutes = 60_000;

  test("has the keys fetched again after 10 min, while tokens go on: a removed key disappears", async () => {
    const { server, keys } = await openWithOld();
    server.answer = keySetOf(rotated.jwk);
    now += 10 * minutes - 1;
    expect(await kids(keys)).toEqual(["old"]);
    now += 1;
    await keys.isReady(); // does not wait
    await expect.poll(() => kids(keys)).toEqual(["rotated"]);
    expect(server.hits).toBe(2);
  });

  test("has none fetched before 10 min, nor more than one in 30 s while the endpoint is down", async () => {
    const { server, keys } = await openWithOld();
    server.answer = status(500);
    /** How often keys were fetched: what was sent before has arrived before this. */
    let asked = 0;
    const fetches = async () => {
      await (await fetch(server.url)).text();
      return server.hits - ++asked;
    };
    now += 10 * minutes - 1;
    await keys.isReady();
    expect(await fetches()).toBe(1);
    now += 1;
    await keys.isReady();
    await expect.poll(() => problems).toHaveLength(1);
    for (const laterMs of [0, 29_999]) {
      now += laterMs;
      for (let n = 0; n < 10; n++) expect(await keys.isReady()).toBe(true);
      expect(await fetches()).toBe(2);
    }
    now += 1;
    await keys.isReady();
    await expect.poll(() => problems).toHaveLength(2);
    expect(await fetches()).toBe(3);
  });

  test("without tokens has the next one wait for the keys of now", async () => {
    const { server, keys } = await openWithOld();
    server.answer = keySetOf(rotated.jwk);
    now += 20 * minutes;
    expect(await kids(keys)).toEqual(["rotated"]);
  });

  test("ends the use of old keys after 24 h; the endpoint's return restores them", async () => {
    const { server, keys } = await openWithOld();
    server.answer = status(500);
    now += 24 * 60 * minutes;
    expect(await kids(keys)).toEqual(["old"]);
    expect(problems.at(-1)).toMatch(/the last good keys stay in use$/);
    now += 1000;
    expect(await kids(keys)).toBe("none");
    expect(problems.at(-1)).toMatch(/no JWT can be verified$/);
    server.answer = keySetOf(old.jwk);
    now += 1000;
    expect(await kids(keys)).toEqual(["old"]);
  });
});
