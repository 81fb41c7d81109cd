/** What whoever runs the command can fix: a flag, a file, a service. One line, no stack. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** 1 failed, 2 the command line or a file that it names is wrong. */
  readonly exitCode: 1 | 2;

  constructor(
    message: string,
    { exitCode = 2, cause }: { exitCode?: 1 | 2; cause?: unknown } = {},
  ) {
    super(message, { cause });
    this.exitCode = exitCode;
  }
}
