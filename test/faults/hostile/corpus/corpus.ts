import { rows } from "../../../support/malformed/http1.ts";
import { knownToken } from "../../../support/test-server.ts";
import { createRandom, type Random } from "../../random.ts";
import { type Attack, type BytesAttack, textOf } from "../attack.ts";
import { mutate } from "../mutate.ts";
import { strangerToken } from "../wire.ts";
import { plainRows, spoilContent } from "./content.ts";
import { breakFrames } from "./frames.ts";
import { smuggle } from "./smuggling.ts";

/** Ids used by attackers. Well-behaved clients use others. */
const firstId = 2n ** 40n;

/** The endless attacks of a seed, without repetition. */
export function* createCorpus(seed: number): Generator<Attack, never> {
  const random = createRandom(seed, "corpus");
  const seen = new Set<string>();
  let id = firstId;
  const isNew = (attack: Attack) => {
    const text = textOf(attack);
    return !seen.has(text) && seen.add(text) !== undefined;
  };
  yield* random.shuffle(plainRows()).filter(isNew);
  for (;;) {
    const attack = random.pick([
      () => spoilContent(id, random),
      () => spoilContent(id, random),
      () => breakLines(random),
      () => breakFrames(random),
      () => smuggle(id, random),
    ])();
    id++;
    if (isNew(attack)) yield attack;
  }
}

/**
 * HTTP/1.1 with invalid lines: the rows of the tests without those of two megabytes, and with an
 * unknown token, because a mutation may repair them.
 */
const lines = rows
  .filter(([, bytes]) => bytes.length < 200_000)
  .map(([what, bytes]) => {
    const text = bytes.toString("latin1").replaceAll(knownToken, strangerToken);
    return { what: `HTTP/1.1, mutated: ${what}`, bytes: Buffer.from(text, "latin1") };
  });

function breakLines(random: Random): BytesAttack {
  const { what, bytes } = random.pick(lines);
  return { what, version: "1.1", bytes: mutate(bytes, random) };
}
