/** What files of deploy/ have to agree with, as the code says it. */
import { readFileSync } from "node:fs";
import { stuckGraceMs } from "connect-gateway-kit/program";
import { expect } from "vitest";
import { parseAllDocuments } from "yaml";
import { resolveSettings } from "../../src/server/settings.ts";
import { describeStoreUrl } from "../../src/server/store-url.ts";
import { runInProcess } from "../support/run-in-process.ts";
import { parseContainerfile, type Stage } from "./containerfile.ts";

const { port, drainTimeoutMs } = resolveSettings({});

export { port };

/** The longest that a server takes to end after SIGTERM. */
export const stopSecondsMax = (drainTimeoutMs + stuckGraceMs) / 1000;

export const stateFolder = "/var/lib/plant-store";

/** Fails for a variable of ours that no setting has, or whose value no start would take. */
export async function expectSettings(variables: ReadonlyMap<string, string>): Promise<void> {
  const { stdout } = await runInProcess(["serve", "--help"]);
  // And what others read.
  const known = new Set([...(stdout.match(/PLANT_STORE_\w+/g) ?? []), "NODE_ENV", "PGPASSWORD"]);
  expect([...variables.keys()].filter((name) => !known.has(name))).toEqual([]);
  expect([...variables.keys()].join()).toContain("PLANT_STORE_");
  const store = variables.get("PLANT_STORE_STORE");
  if (store !== undefined) expect(describeStoreUrl(store)).not.toBe("");
}

/** A stage of the Containerfile that is an image: the last, or the `--target` of its name. */
export function readImage(name: string): Stage {
  const stages = parseContainerfile(readDeployFile("Containerfile"));
  return stages.find((stage) => stage.name === name) ?? expect.fail(`no image ${name}`);
}

export function readDeployFile(path: string): string {
  return readFileSync(new URL(`../../deploy/${path}`, import.meta.url), "utf8");
}

/** Without types, as of JSON.parse. @throws For anything that is not YAML, or has a key twice. */
export function readAllYaml(path: string) {
  const documents = [...parseAllDocuments(readDeployFile(path), { strict: true })];
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  return documents.map((document) => document.toJS());
}

/** The same of a file with one document. */
export function readYaml(path: string) {
  const [document, ...others] = readAllYaml(path);
  expect(others).toEqual([]);
  return document;
}
