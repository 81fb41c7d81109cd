/** A shell block of a Markdown page. */
export interface ShellBlock {
  readonly line: number;
  readonly commands: string;
  /** Why it cannot run here, from the comment before it: `<!-- not run: REASON -->`. */
  readonly notRun: string | undefined;
}

export function findShellBlocks(markdown: string): readonly ShellBlock[] {
  const blocks = markdown.matchAll(/(?:<!-- not run: (.+) -->\n\n)?^```sh\n([\s\S]*?)^```$/gm);
  return [...blocks].map(({ index, 1: notRun, 2: commands = "" }) => ({
    line: markdown.slice(0, index).split("\n").length,
    commands,
    notRun,
  }));
}
