/** A command ends with this exit code; the lines are for whoever runs it. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  readonly exitCode: 1 | 2 | 3;
  readonly lines: readonly string[];

  constructor(
    exitCode: 1 | 2 | 3,
    lines: string | readonly string[],
    options?: { cause: unknown },
  ) {
    const all = [lines].flat();
    super(all.join("; "), options);
    this.exitCode = exitCode;
    this.lines = all;
  }
}

/** Why the operating system did not do it, for a path that somebody gave. */
export function cannot(verb: string, path: string, error: unknown): CommandFailure {
  if (error instanceof CommandFailure) return error;
  const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
  return new CommandFailure(1, `cannot ${verb} ${path}: ${reasons[reason] ?? reason}`);
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EEXIST: "it exists already",
  EISDIR: "it is a folder",
  ENOENT: "there is no such file or folder",
  ENOSPC: "no space left on the disk",
  ENOTDIR: "a part of the path is a file",
  EROFS: "the file system is read-only",
};
