import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";

export type Flags = ReturnType<typeof parseFlags>;

/** @throws {TypeError} that says what is wrong with the command line. */
export function parseFlags(args: readonly string[], names: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      minutes: { type: "string", default: "3" },
      seed: { type: "string", default: String(randomInt(2 ** 31)) },
      hours: { type: "string" },
      folder: { type: "string", default: "data/soak" },
      only: { type: "string", multiple: true, default: [...names] },
    },
  });
  const isSoak = positionals.join(" ") === "soak";
  if (positionals.length > 0 && !isSoak) {
    throw new TypeError(`${positionals.join(" ")} is nothing to run; there is soak`);
  }
  if (values.hours !== undefined && !isSoak) throw new TypeError("--hours is of soak");
  const unknown = values.only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new TypeError(`there is no campaign ${unknown}; there are ${names.join(", ")}`);
  }
  return {
    minutes: isSoak
      ? parseNumber("hours", values.hours ?? "3", numberForm) * 60
      : parseNumber("minutes", values.minutes, numberForm),
    seed: parseNumber("seed", values.seed, /^\d{1,10}$/),
    only: values.only,
    /** The directory of a soak, which then runs alone. */
    soak: isSoak ? values.folder : undefined,
  };
}

const numberForm = /^\d{1,4}(\.\d{1,3})?$/;

function parseNumber(flag: string, text: string, form: RegExp): number {
  if (!form.test(text)) throw new TypeError(`--${flag} must be a number, not ${text}`);
  return Number(text);
}
