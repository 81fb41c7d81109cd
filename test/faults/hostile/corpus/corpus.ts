import { createRandom } from "../../random.ts";
import { type Attack, keyOf } from "../attack.ts";
import { plainRows, spoilContent } from "./content.ts";
import { breakFrames } from "./frames.ts";
import { breakLines } from "./lines.ts";
import { smuggle } from "./smuggling.ts";
import { misuseToken } from "./tokens.ts";

/** Ids used by attackers. Well-behaved clients use others. */
const firstId = 2n ** 40n;

/** The endless attacks of a seed, without repetition. */
export function* createCorpus(seed: number): Generator<Attack, never> {
  const random = createRandom(seed, "corpus");
  const seen = new Set<string>();
  let id = firstId;
  const isNew = (attack: Attack) => {
    const key = keyOf(attack);
    return !seen.has(key) && seen.add(key) !== undefined;
  };
  yield* random.shuffle(plainRows()).filter(isNew);
  for (;;) {
    const attack = random.pick([
      () => spoilContent(id, random),
      () => spoilContent(id, random),
      () => breakLines(random),
      () => breakFrames(random),
      () => smuggle(id, random),
      () => misuseToken(id, random),
    ])();
    id++;
    if (isNew(attack)) yield attack;
  }
}
