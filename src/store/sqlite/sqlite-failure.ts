/** An error of SQLite. `code` is the name of its extended code, or the class of another error. */
export class SqliteFailure extends Error {
  override readonly name = "SqliteFailure";
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${message} (${code})`);
    this.code = code;
  }
}
