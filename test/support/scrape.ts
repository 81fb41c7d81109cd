import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { within } from "../../packages/gateway/test/support/within.ts";

/** A server's metrics as Prometheus parses them. */
export type Scrape = ReturnType<typeof parseScrape>;

/** Scrapes once. Fails the test for anything that the text format does not allow. */
export async function scrape(url: string | undefined): Promise<Scrape> {
  if (url === undefined) throw new Error("the server has no metrics");
  const response = await within("a scrape", fetch(url, { headers: { connection: "close" } }));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseScrape(await response.text());
}

const line = /^([a-zA-Z_:][\w:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*",?)*\})? (\S+)$/;

function parseScrape(text: string) {
  /** By name and labels, as written: `up{a="b"}`. */
  const series = new Map<string, number>();
  /** The type of each metric, by name. */
  const types = new Map<string, string>();
  expect(text.endsWith("\n")).toBe(true);
  for (const one of text.split("\n")) {
    const [, typed, type] = /^# TYPE (\S+) (counter|gauge|histogram|summary)$/.exec(one) ?? [];
    if (typed !== undefined && type !== undefined) {
      expect(types.has(typed), `${typed} has one type`).toBe(false);
      types.set(typed, type);
    }
    if (one === "" || one.startsWith("# ")) continue;
    const [, name = "", labels = "", value = ""] = line.exec(one) ?? [];
    expect(name, `a sample: ${one}`).not.toBe("");
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    expect(types.has(family), `a type for ${name}`).toBe(true);
    expect(value, one).toMatch(/^(NaN|[+-]Inf|-?\d+(\.\d+)?(e[+-]?\d+)?)$/);
    expect(series.has(name + labels), `${one} stands there once`).toBe(false);
    series.set(name + labels, Number(value.replace("Inf", "Infinity")));
  }
  return {
    ...{ series, types },
    /** Fails the test if there is no such series. */
    value(name: string): number {
      const value = series.get(name);
      if (value === undefined) throw new Error(`there is no series ${name}`);
      return value;
    },
  };
}

/** Scrapes until the condition holds, for values that the server updates after its answer. */
export function scrapeUntil(
  url: string | undefined,
  what: string,
  isThere: (scraped: Scrape) => boolean,
): Promise<Scrape> {
  const look = async (): Promise<Scrape> => {
    const scraped = await scrape(url);
    if (isThere(scraped)) return scraped;
    await delay(20);
    return await look();
  };
  return within(what, look());
}
