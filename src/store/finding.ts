/** A result of checking a store. */
export interface Finding {
  /**
   * `warn` needs somebody's decision. `fail` means that the store does not run, or plants are at
   * risk.
   */
  readonly level: "ok" | "warn" | "fail";
  readonly subject: string;
  /** One line: what was found and, except for `ok`, what to do. */
  readonly text: string;
}
