/** What is in the files of deploy/. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { parseAllDocuments } from "yaml";
import { parseContainerfile, type Stage } from "./containerfile.ts";

export const stateDir = "/var/lib/plant-store";

export const readStages = () => parseContainerfile(readDeployFile("Containerfile"));

/** A stage of the Containerfile that is an image: the last, or the `--target` of its name. */
export function readImage(name: string): Stage {
  return readStages().find((stage) => stage.name === name) ?? expect.fail(`no image ${name}`);
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
