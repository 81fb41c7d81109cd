/** The alert rules parse, fire when they should, and ask for nothing that a server does not export. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { createCertificate, hasOpenssl } from "../../packages/gateway/test/support/certificate.ts";
import { createTemporaryFolder } from "../../packages/gateway/test/support/temporary-folder.ts";
import { type Scrape, scrape } from "../support/scrape.ts";
import { openTestServer } from "../support/test-server.ts";
import { readYaml } from "./facts.ts";

const file = "prometheus/alerts.yaml";
const rules: { alert: string; expr: string }[] = readYaml(file).groups.flatMap(
  (group: { rules: object[] }) => group.rules,
);

function promtool(...args: string[]) {
  return spawnSync("promtool", args, { encoding: "utf8" });
}

describe.skipIf(promtool("--version").status !== 0)("promtool", () => {
  test("accepts them", () => {
    const path = fileURLToPath(new URL(`../../deploy/${file}`, import.meta.url));
    const { status, stdout, stderr } = promtool("check", "rules", path);
    expect(stderr).toBe("");
    expect(stdout).toContain(`${rules.length} rules found`);
    expect(status).toBe(0);
  });

  test("sees them fire, and stop", () => {
    const path = fileURLToPath(new URL("alerts.promtool.yaml", import.meta.url));
    const { status, stdout, stderr } = promtool("test", "rules", path);
    expect(stdout + stderr).toContain("SUCCESS");
    expect(status).toBe(0);
  });
});

describe.skipIf(!hasOpenssl)("against a server", () => {
  let scraped: Scrape;

  beforeAll(async () => {
    await using folder = await createTemporaryFolder();
    const tls = createCertificate(folder.path, "server");
    await using server = await openTestServer({ adminPort: 0, tls });
    scraped = await scrape(server.running.metricsUrl);
  });

  test.each(rules)("$alert uses metrics and codes that exist", ({ expr }) => {
    const series = [...scraped.series.keys()];
    const names = expr.match(/\bplant_store_\w+/g) ?? [];
    expect(names.length).toBeGreaterThan(0);
    for (const name of names) {
      expect(
        series.some((one) => one.split("{", 1)[0] === name),
        name,
      ).toBe(true);
    }
    for (const [, codes = ""] of expr.matchAll(/code=~"([^"]*)"/g)) {
      for (const code of codes.split("|")) expect(series.join("\n")).toContain(`code="${code}"`);
    }
  });
});
