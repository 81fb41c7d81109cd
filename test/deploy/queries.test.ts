/** The dashboard and the alert rules ask for nothing that a server does not export. */
import { spawnSync } from "node:child_process";
import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { beforeAll, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { postPlant } from "../support/plant-request.ts";
import { type Scrape, scrape } from "../support/scrape.ts";
import { openTestServer } from "../support/test-server.ts";
import { readDeployFile, readYaml } from "./facts.ts";

interface Query {
  readonly title: string;
  readonly expr: string;
  readonly legendFormat?: string;
}

// Without types, as of JSON.parse.
const dashboard = JSON.parse(readDeployFile("grafana/plant-store.json"));
const targets: readonly Query[] = dashboard.panels.flatMap(
  ({ title, targets }: { title: string; targets: readonly Query[] }) =>
    targets.map((target) => ({ ...target, title })),
);
const variables: readonly Query[] = dashboard.templating.list
  .map(({ name, query }: Record<string, string>) => ({ title: `variable ${name}`, expr: query }))
  .filter(({ expr }: Query) => expr.startsWith("label_values("));
const alertsFile = "prometheus/alerts.yaml";
const alerts: readonly Query[] = readYaml(alertsFile)
  .groups.flatMap(({ rules }: { rules: { alert: string; expr: string }[] }) => rules)
  .map(({ alert: title, expr }: Record<string, string>) => ({ title, expr }))
  .filter(({ expr }: Query) => hasOpenssl || !expr.includes("tls_certificate"));

let scraped: Scrape;

beforeAll(async () => {
  await using folder = await createTemporaryFolder();
  const certificate = hasOpenssl ? createCertificate(folder.path, "server") : undefined;
  await using server = await openTestServer({ adminPort: 0, tls: certificate });
  const ca = certificate && { ca: certificate.pem };
  await postPlant(server.url, { version: "2", ...ca });
  do {
    // The series of a garbage collection begins with the first one.
    Array.from({ length: 100_000 }, () => ({}));
    scraped = await scrape(server.running.metricsUrl);
  } while (labelsOf("nodejs_gc_duration_seconds_sum").size === 0);
});

/** The labels of the series of one name, and those that Prometheus adds; none without a series. */
function labelsOf(metric: string): Set<string> {
  const all = [...scraped.series.keys()].filter((series) => series.split("{", 1)[0] === metric);
  const own = all.flatMap((series) => [...series.matchAll(/(\w+)="/g)].map(([, label]) => label));
  return new Set(
    all.length === 0 ? [] : [...own.filter((label) => label !== undefined), "job", "instance"],
  );
}

/** As in google.rpc.Code. */
const codeNames = ["OK", ...Object.values(Code).flatMap(nameOf)];

function nameOf(code: Code | string): string[] {
  if (typeof code === "string") return [];
  return [codeToString(code).toUpperCase().replace("CANCELED", "CANCELLED")];
}

test("there are queries", () => {
  expect(targets.length).toBeGreaterThan(20);
  expect(alerts.length).toBeGreaterThan(4);
});

test.each([...targets, ...variables, ...alerts])("$title: $expr", ({ expr, legendFormat = "" }) => {
  const metrics = [...new Set(expr.match(/\b(?:plant_store|process|nodejs)_\w+/g))];
  expect(metrics).not.toEqual([]);
  for (const metric of metrics) {
    expect(labelsOf(metric), metric).not.toEqual(new Set());
    for (const [, names = ""] of expr.matchAll(/\bby \(([^)]*)\)/g))
      for (const label of names.split(/, */)) expect(labelsOf(metric), metric).toContain(label);
    // Counters are asked for their rate.
    if (/_(?:total|bucket|sum|count)$/.test(metric))
      for (const [use] of expr.matchAll(new RegExp(`(?:\\w+\\()?${metric}\\b`, "g")))
        expect(use).toBe(`rate(${metric}`);
  }
  for (const [, metric = "", matchers = ""] of expr.matchAll(/(\w+)\{([^}]*)\}/g))
    for (const [, label = ""] of matchers.matchAll(/(\w+)\s*(?:=~|!=|=)/g))
      expect(labelsOf(metric), metric).toContain(label);
  const all = metrics.flatMap((metric) => [...labelsOf(metric)]);
  for (const [, label = ""] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
    expect(all).toContain(label);
  for (const [, codes = ""] of expr.matchAll(/\bcode\s*(?:=~|!=|=)\s*"([^"]*)"/g))
    for (const code of codes.split("|")) expect(codeNames).toContain(code);
});

const promtool = (...args: string[]) => spawnSync("promtool", args, { encoding: "utf8" });

test.skipIf(promtool("--version").status !== 0).each([
  ["accepts them", ["check", "rules", `deploy/${alertsFile}`], "rules found"],
  ["sees them fire, and stop", ["test", "rules", "test/deploy/alerts.promtool.yaml"], "SUCCESS"],
])("promtool %s", (_what, args, said) => {
  const { status, stdout, stderr } = promtool(...args);
  expect(stdout + stderr).toContain(said);
  expect(status).toBe(0);
});
