import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The licenses of the packages that these files are of, as each of them wants it to go with a copy. */
export function collectLicenses(files: ReadonlySet<string>): string {
  const folders = Map.groupBy([...files].sort(), packageFolder);
  const sections = [...folders].map(([folder, modules]) => {
    const { name, version, license } = JSON.parse(read(join(folder, "package.json")));
    const texts = new Set([...licenseTexts(folder), ...modules.flatMap(copyrightComments)]);
    if (texts.size === 0) throw new Error(`${folder} has no text of its license`);
    return [`${name} ${version}, ${license}`, ...texts].join("\n\n");
  });
  return `${sections.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

function packageFolder(file: string): string {
  const [folder] = /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(file) ?? [file];
  return folder;
}

/** Files, or what the README says instead. */
function licenseTexts(folder: string): readonly string[] {
  const names = readdirSync(folder);
  const files = names.filter((name) => /^(licen[sc]e|notice|copying)/i.test(name));
  if (files.length > 0) return files.map((name) => read(join(folder, name)).trim());
  const readme = names.find((name) => /^readme/i.test(name));
  const [, section] =
    /^#+ *license\s+(.*)$/ims.exec(readme ? read(join(folder, readme)) : "") ?? [];
  return section === undefined ? [] : [section.trim()];
}

/** Not of every file the same: parts of protobuf-es are Google's. */
function copyrightComments(file: string): readonly string[] {
  const comments = read(file).match(/(?:^ *\/\/[^\n]*\n)+|^ *\/\*.*?\*\//gms) ?? [];
  return comments
    .filter((comment) => /copyright/i.test(comment))
    .map((comment) => comment.replace(/^ *(?:\/\/|\/?\*+\/?) ?/gm, "").trim());
}

function read(file: string): string {
  return readFileSync(file, "utf8");
}
