/** A deliberate break, and the check that must detect it. */
export interface Mutant {
  /** What the broken code does. */
  readonly name: string;
  /** Relative to the root of the project. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The name of a campaign, or the path of a test file. */
  readonly campaign: string;
}
