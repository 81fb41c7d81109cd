/** HTTP/1.1 with invalid lines: the rows of the tests, and mutations of them. */
import { rows } from "../../../support/malformed/http1.ts";
import { knownToken } from "../../../support/test-server.ts";
import type { Random } from "../../random.ts";
import type { BytesAttack } from "../attack.ts";
import { mutate } from "../mutate.ts";
import { strangerToken } from "./tokens.ts";

/** Without the rows of two megabytes. */
const small = rows.filter(([, bytes]) => bytes.length < 200_000);

/** With an unknown token, because a mutation may repair them. */
const seeds = small.map(([what, bytes]) => {
  const text = bytes.toString("latin1").replaceAll(knownToken, strangerToken);
  return { what, bytes: Buffer.from(text, "latin1") };
});

export function breakLines(random: Random): BytesAttack {
  const { what, bytes } = random.pick(seeds);
  return {
    kind: "bytes",
    what: `HTTP/1.1, mutated: ${what}`,
    version: "1.1",
    bytes: mutate(bytes, random),
  };
}
