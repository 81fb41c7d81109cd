/**
 * Runs `npm audit` for what users install. Fails for a known vulnerability. Reports that it was
 * skipped if the registry does not support audits or cannot be reached.
 */
import { spawnSync } from "node:child_process";

const args = ["audit", "--omit=dev", "--workspaces=false", "--json", "--fetch-retries=0"];
const { stdout } = spawnSync("npm", args, { encoding: "utf8", timeout: 60_000 });
const report = parseReport(stdout);

if (report.vulnerabilities === undefined) {
  console.log(`npm audit: skipped: ${report.message ?? "no answer"}`);
} else {
  const found = Object.entries(report.vulnerabilities);
  for (const [name, { severity }] of found) console.error(`${name}: ${severity}`);
  console.log(`npm audit: ${found.length} vulnerabilities`);
  if (found.length > 0) process.exitCode = 1;
}

interface Report {
  readonly message?: string;
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
}

function parseReport(text: string): Report {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
