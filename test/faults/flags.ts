import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export interface Flags {
  readonly minutes: number;
  readonly seed: number;
  /** The names of the campaigns to run. */
  readonly only: readonly string[];
}

/** @throws {TypeError} that says what is wrong with the command line. */
export function parseFlags(args: readonly string[], names: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(randomInt(2 ** 31)) },
      only: { type: "string", multiple: true, default: [...names] },
    },
  });
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no campaign ${unknown}; there are ${names.join(", ")}`);
  }
  return {
    minutes: parseNumber("minutes", values.minutes, /^\d{1,4}(\.\d{1,3})?$/),
    seed: parseNumber("seed", values.seed, /^\d{1,10}$/),
    only: values.only,
  };
}

function parseNumber(flag: string, text: string, form: RegExp): number {
  if (!form.test(text)) throw new TypeError(`--${flag} must be a number, not ${text}`);
  return Number(text);
}
