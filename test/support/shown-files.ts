/** The files that a README contains completely. The first line of each is a comment with its path. */
export function findShownFiles(markdown: string) {
  const blocks = markdown.matchAll(/^```\w+\n(?:\/\/|#) ([\w./[\]-]+\.\w+)\n[\s\S]*?^```$/gm);
  return [...blocks].map(([block, path = ""]) => ({
    path,
    text: block.split("\n").slice(1, -1).join("\n"),
  }));
}
