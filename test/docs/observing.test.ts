/** docs/metrics.md and docs/logging.md name all that a server exports and logs, and nothing else. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { spawnServer } from "../support/child-server.ts";
import { postPlant } from "../support/plant-request.ts";
import { scrape } from "../support/scrape.ts";
import { knownToken, openTestServer } from "../support/test-server.ts";

/** The cells of a page's rows that begin with code, without the backticks. */
function rowsOf(page: string): string[][] {
  const lines = readFileSync(page, "utf8").split("\n");
  return lines
    .filter((line) => line.startsWith("| `"))
    .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")))
    .map(([, ...cells]) => cells);
}

test("docs/metrics.md has every metric, its type and its labels", async () => {
  await using server = await openTestServer({ adminPort: 0 });
  await postPlant(server.url);
  const { types, series } = await scrape(server.running.metricsUrl);
  const exported = [...types].filter(([name]) => name.startsWith("plant_store_"));
  const labelsOf = (metric: string) => {
    const all = [...series.keys()].filter((one) =>
      new RegExp(`^${metric}(_bucket|_sum|_count)?(\\{|$)`).test(one),
    );
    const names = all.flatMap((one) => [...one.matchAll(/[{,](\w+)=/g)].map(([, name]) => name));
    return [...new Set(names)].filter((name) => name !== "le").join(", ");
  };
  const rows = rowsOf("docs/metrics.md").map(([name, type, labels]) => [name, type, labels]);
  expect(rows.sort()).toEqual(exported.map(([name, type]) => [name, type, labelsOf(name)]).sort());
});

test("docs/logging.md has every field of a request's line", async () => {
  await using server = await spawnServer({ args: ["--access-log", "on"] });
  for (const token of [knownToken, "nobody-knows-this"]) {
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    await postPlant(server.url, { headers: { authorization: `Bearer ${token}`, traceparent } });
  }
  const [lines] = await server.stderr.until(/.*"msg":"request".*\n.*"msg":"request".*/);
  const [served, refused] = lines.split("\n").map((line) => {
    const { level, time, msg, ...fields } = JSON.parse(line);
    expect([level, typeof time, msg]).toEqual(["info", "string", "request"]);
    return Object.keys(fields);
  });
  const rows = rowsOf("docs/logging.md").map(([name]) => name);
  expect(served).toEqual(rows.filter((name) => name !== "reason"));
  expect(refused).toEqual(rows.filter((name) => name !== "principal"));
});
