/** Sends attacks and judges the answers. */
import { setTimeout as delay } from "node:timers/promises";
import { defaultLimits } from "connect-gateway/limits";
import type {
  HttpResponse,
  HttpVersion,
} from "../../../packages/gateway/test/support/http-exchange.ts";
import { flag, frameType, parseFrames } from "../../../packages/gateway/test/support/raw-http2.ts";
import { type StoredPlant, storedForm } from "../../support/stored-plants.ts";
import { knownToken } from "../../support/test-server.ts";
import type { TestPlant } from "../history/history.ts";
import { overHttp1, overHttp2, type Send } from "../load/caller.ts";
import { type Answer, answerOf, answersIn } from "./answer.ts";
import type { Attack, BytesAttack, ContentAttack } from "./attack.ts";
import { openConnection } from "./connection.ts";
import { readSound } from "./sound.ts";

export interface AttackOptions {
  readonly url: string;
  readonly port: number;
  readonly atOnce: number;
  readonly isOver?: () => boolean;
}

export interface AttackReport {
  readonly tried: number;
  readonly answers: Readonly<Record<Answer | "none", number>>;
  readonly found: readonly string[];
  /** Plants that a mutation has made valid, so they may be stored. */
  readonly sound: readonly TestPlant[];
}

/** A client's time limit for sending a request, doubled for a busy machine. */
export const answerLimitMs: number = 3 * defaultLimits.requestTimeoutMs;

/** HTTP/2 stays open after garbage that might still become a frame. */
const silenceMs = 400;

export async function attackAll(
  attacks: Iterable<Attack>,
  { url, port, atOnce, isOver = () => false }: AttackOptions,
): Promise<AttackReport> {
  const answers = {
    accepted: 0,
    refused: 0,
    unauthenticated: 0,
    overloaded: 0,
    failed: 0,
    none: 0,
  };
  const found: string[] = [];
  const sound: TestPlant[] = [];
  let tried = 0;
  const source = Iterator.from(attacks);
  using senders = new Senders(url);

  async function attackOn(): Promise<void> {
    while (!isOver()) {
      const { value: attack, done } = source.next();
      if (done || attack === undefined) return;
      const plant = attack.kind === "content" ? readSound(attack) : undefined;
      if (plant !== undefined) sound.push(plant);
      const begin = performance.now();
      const given =
        attack.kind === "bytes" ? await sendBytes(attack, port) : await senders.send(attack);
      tried++;
      for (const answer of given.length === 0 ? (["none"] as const) : given) answers[answer]++;
      found.push(...judge(attack, { given, isSound: plant !== undefined }));
      const tookMs = performance.now() - begin;
      if (tookMs > answerLimitMs) {
        found.push(`${describe(attack)}: no end after ${Math.round(tookMs)} ms`);
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, attackOn));
  return { tried, answers, found, sound };
}

function judge(
  attack: Attack,
  { given, isSound }: { given: readonly Answer[]; isSound: boolean },
): string[] {
  if (given.includes("failed") && !mayFail(attack)) {
    return [`${describe(attack)}: was answered as a failure of the server`];
  }
  if (given.includes("accepted") && !isSound) return [`${describe(attack)}: was accepted`];
  if (isStranger(attack) && given.some((answer) => answer !== "unauthenticated")) {
    return [`${describe(attack)}: was answered ${given}, not that its token is unknown`];
  }
  return [];
}

/** In gRPC, it is INTERNAL if a message is compressed without an announced coding. */
function mayFail(attack: Attack): boolean {
  if (attack.kind !== "content" || "grpc-encoding" in attack.headers) return false;
  const { "content-type": type = "" } = attack.headers;
  return type.startsWith("application/grpc") && attack.body.some((byte) => (byte & 1) === 1);
}

/** Valid for the gate except for its token, which is checked before anything behind the gate. */
function isStranger(attack: Attack): boolean {
  if (attack.kind !== "content") return false;
  const { authorization, ...rest } = attack.headers;
  return authorization !== `Bearer ${knownToken}` && Object.keys(rest).join() === "content-type";
}

/** Enough to identify it and to send it again. */
function describe(attack: Attack): string {
  const bytes = attack.kind === "bytes" ? attack.bytes : attack.body;
  const { version, what } = attack;
  const where = attack.kind === "bytes" ? "" : ` ${attack.path} ${JSON.stringify(attack.headers)}`;
  return `HTTP/${version} ${what}:${where} ${JSON.stringify(bytes.toString("latin1").slice(0, 400))}`;
}

async function sendBytes({ bytes, version }: BytesAttack, port: number): Promise<Answer[]> {
  const connection = openConnection(port);
  const { socket } = connection;
  socket.write(bytes);
  if (version === "1.1") {
    socket.end();
    await connection.until(() => false, answerLimitMs);
  } else {
    await connection.until(hasStreamEnded, silenceMs);
    socket.end();
    await connection.until(() => false, answerLimitMs);
  }
  if (!connection.isEnded) await delay(1); // judged by the time it took
  socket.destroy();
  return answersIn(connection.received, version);
}

function hasStreamEnded(received: Buffer): boolean {
  return parseFrames(received).some(
    ({ type, streamId, flags }) =>
      type === frameType.goaway ||
      type === frameType.rstStream ||
      (streamId !== 0 && type <= frameType.headers && (flags & flag.endStream) !== 0),
  );
}

/** HTTP clients on persistent connections, one for each version and path. */
class Senders implements Disposable {
  readonly #url: string;
  readonly #open = new Map<string, [Send, () => void]>();

  constructor(url: string) {
    this.#url = url;
  }

  async send({ version, path, headers, body }: ContentAttack): Promise<Answer[]> {
    const [send] = this.#at(version, path);
    try {
      const response: HttpResponse = await send(body, headers, AbortSignal.timeout(answerLimitMs));
      return [answerOf(response)];
    } catch {
      return []; // aborted: a server may close after an early answer
    }
  }

  #at(version: HttpVersion, path: string): [Send, () => void] {
    const key = `${version} ${path}`;
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const sender = version === "1.1" ? overHttp1(this.#url, path) : overHttp2(this.#url, path);
    this.#open.set(key, sender);
    return sender;
  }

  [Symbol.dispose](): void {
    for (const [, close] of this.#open.values()) close();
  }
}

/** The rows of a store that no attack was entitled to. */
export function withoutSound(
  rows: readonly StoredPlant[],
  sound: readonly TestPlant[],
): StoredPlant[] {
  const key = ({ id, name, tag }: StoredPlant) => `${id} ${name} ${tag}`;
  const keys = new Set(sound.map((plant) => key(storedForm(plant))));
  return rows.filter((row) => !keys.has(key(row)));
}
