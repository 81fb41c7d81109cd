/** A file that a README contains completely. Its first line is a comment with its path. */
export interface ShownFile {
  readonly path: string;
  readonly text: string;
}

export function findShownFiles(markdown: string): readonly ShownFile[] {
  const blocks = markdown.matchAll(/^```\w+\n(?:\/\/|#) ([\w./[\]-]+\.\w+)\n[\s\S]*?^```$/gm);
  return [...blocks].map(([block, path = ""]) => ({
    path,
    text: block.split("\n").slice(1, -1).join("\n"),
  }));
}
