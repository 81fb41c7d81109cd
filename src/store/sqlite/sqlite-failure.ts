/** SQLite failed. `code` is its extended code by name, or the class of another error. */
export class SqliteFailure extends Error {
  override readonly name = "SqliteFailure";
  readonly code: string;

  constructor(code: string, message: string) {
    super(`${message} (${code})`);
    this.code = code;
  }
}
