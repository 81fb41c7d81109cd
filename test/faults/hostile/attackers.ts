/** Sends attacks and judges the answers. */
import { setTimeout as delay } from "node:timers/promises";
import { defaultLimits } from "connect-gateway/limits";
import { framesIn } from "../../../packages/gateway/test/support/frames.ts";
import { isEnd } from "../../support/malformed/http2.ts";
import { knownToken } from "../../support/test-server.ts";
import type { TestPlant } from "../history/check.ts";
import { openSender, type Sender } from "../load/sender.ts";
import { type Answer, answerOf, answersIn } from "./answer.ts";
import { type Attack, type BytesAttack, type ContentAttack, textOf } from "./attack.ts";
import { openConnection } from "./connection.ts";
import { readSound } from "./sound.ts";

interface AttackOptions {
  readonly url: string;
  readonly port: number;
  readonly signal: AbortSignal;
  readonly atOnce: number;
  /** How many of the attacks to take. Default: all. */
  readonly max?: number;
}

/** A client's time limit for sending a request, doubled for a busy machine. */
const answerLimitMs = 3 * defaultLimits.requestTimeoutMs;
/** HTTP/2 stays open after garbage that might still become a frame. */
const silenceMs = 400;

export async function attackAll(
  attacks: Iterator<Attack>,
  { url, port, signal, atOnce, max = Number.POSITIVE_INFINITY }: AttackOptions,
) {
  const answers: (Answer | "none")[] = [];
  const found: string[] = [];
  /** Plants that a mutation has made valid, so they may be stored. */
  const sound: TestPlant[] = [];
  let count = 0;
  using http1 = openSender("1.1", url);
  using http2 = openSender("2", url);

  async function attackOn(): Promise<void> {
    while (count < max && !signal.aborted) {
      const { value: attack, done } = attacks.next();
      if (done || attack === undefined) return;
      count++;
      const plant = "bytes" in attack ? undefined : readSound(attack);
      if (plant !== undefined) sound.push(plant);
      const begin = performance.now();
      const given =
        "bytes" in attack
          ? await sendBytes(attack, port)
          : await sendContent(attack, attack.version === "1.1" ? http1 : http2);
      const tookMs = performance.now() - begin;
      if (given.length === 0) answers.push("none");
      answers.push(...given);
      const wrong = [
        judge(attack, given, plant !== undefined),
        tookMs > answerLimitMs ? `no end after ${Math.round(tookMs)} ms` : undefined,
      ].filter((problem) => problem !== undefined);
      // Enough to identify it and to send it again.
      const shown = JSON.stringify(textOf(attack).slice(0, 600));
      found.push(...wrong.map((problem) => `${attack.what}: ${problem}: ${shown}`));
    }
  }
  await Promise.all(Array.from({ length: atOnce }, attackOn));
  return { count, answers, found, sound };
}

function judge(attack: Attack, given: readonly Answer[], isSound: boolean): string | undefined {
  if (given.includes("failed") && !mayFail(attack)) return "was answered as its own failure";
  if (given.includes("accepted") && !isSound) return "was accepted";
  if (isStranger(attack) && given.some((answer) => answer !== "unauthenticated")) {
    return `was answered ${given}, not that its token is unknown`;
  }
  return undefined;
}

/** In gRPC, it is INTERNAL if an envelope has unknown flags, or is compressed without a coding. */
function mayFail(attack: Attack): boolean {
  if ("bytes" in attack) return false;
  const { "content-type": type = "", "grpc-encoding": coding } = attack.headers;
  if (!type.startsWith("application/grpc")) return false;
  const sent = Buffer.from(attack.body);
  const body = type.includes("-text") ? Buffer.from(sent.toString("latin1"), "base64") : sent;
  const known = coding === undefined ? 0 : 1;
  for (let at = 0; at + 5 <= body.length; at += 5 + body.readUInt32BE(at + 1)) {
    if ((body.readUInt8(at) & ~known) !== 0) return true;
  }
  return false;
}

/** Valid for the gate except for its token, which is checked before anything behind the gate. */
function isStranger(attack: Attack): boolean {
  if ("bytes" in attack) return false;
  const { authorization, ...rest } = attack.headers;
  return authorization !== `Bearer ${knownToken}` && Object.keys(rest).join() === "content-type";
}

async function sendBytes({ bytes, version }: BytesAttack, port: number): Promise<Answer[]> {
  const connection = openConnection(port);
  const { socket } = connection;
  socket.write(bytes);
  if (version === "2")
    await connection.until((received) => framesIn(received).some(isEnd), silenceMs);
  socket.end();
  await connection.until(() => false, answerLimitMs);
  if (!connection.isEnded) await delay(1); // judged by the time it took
  socket.destroy();
  return answersIn(connection.received, version);
}

async function sendContent(attack: ContentAttack, sender: Sender): Promise<Answer[]> {
  const sent = sender.send({ ...attack, signal: AbortSignal.timeout(answerLimitMs) });
  return await sent.then(
    (response) => [answerOf(response)],
    () => [], // aborted: a server may close after an early answer
  );
}
