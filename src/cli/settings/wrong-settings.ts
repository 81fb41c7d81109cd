/** Settings that no command can work with: one line each, in the operator's words. */
export class WrongSettings extends Error {
  override readonly name = "WrongSettings";
  readonly lines: readonly string[];

  constructor(lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}
