import { parseArgs } from "node:util";

export const partNames = [
  "rates",
  "streams",
  "latency",
  "stores",
  "memory",
  "full-store",
  "start",
  "proxy",
  "far",
  "mcp",
] as const;
export type PartName = (typeof partNames)[number];

export interface Flags {
  readonly isQuick: boolean;
  readonly parts: readonly PartName[];
  readonly jsonFile: string;
  readonly markdownFile: string | undefined;
  /** The additional duration of each sync. */
  readonly syncDelayMs: number | undefined;
}

const resultsFile = "bench/results/latest.json";

export const usage = `npm run bench -- [--quick] [--only PART]... [--sync-delay-ms N]
             [--json FILE] [--markdown FILE]

  --quick            a minute that shows that all works; its figures mean nothing
  --only PART        ${partNames.join(", ")};
                     may be repeated; default: all
  --sync-delay-ms N  delay each fsync and fdatasync by N ms, as a slow disk does; needs gcc
  --json FILE        where all figures go; default: ${resultsFile}
  --markdown FILE    where the tables go, too
`;

/** @throws {TypeError} that says what is wrong with the command line. */
export function parseFlags(args: readonly string[]): Flags {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [...partNames] },
      json: { type: "string", default: resultsFile },
      markdown: { type: "string" },
      "sync-delay-ms": { type: "string" },
    },
  });
  const unknown = values.only.find((name) => !isPartName(name));
  if (unknown !== undefined) throw new TypeError(`there is no part ${unknown}`);
  return {
    isQuick: values.quick,
    parts: partNames.filter((name) => values.only.includes(name)),
    jsonFile: values.json,
    markdownFile: values.markdown,
    syncDelayMs: parseDelay(values["sync-delay-ms"]),
  };
}

const delayMsMax = 10_000;

function parseDelay(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Number(text);
  if (/^\d+$/.test(text) && ms >= 1 && ms <= delayMsMax) return ms;
  throw new TypeError(`--sync-delay-ms is ${text}; use a whole number from 1 to ${delayMsMax}`);
}

function isPartName(name: string): name is PartName {
  return partNames.some((known) => known === name);
}
