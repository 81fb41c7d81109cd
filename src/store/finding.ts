/** What a look at a store has shown. */
export interface Finding {
  /** `warn` is for somebody to decide about; with `fail`, it does not run, or plants are in danger. */
  readonly level: "ok" | "warn" | "fail";
  readonly subject: string;
  /** One line: what is, and for all but `ok`, what to do. */
  readonly text: string;
}
