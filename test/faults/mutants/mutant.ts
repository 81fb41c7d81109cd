/** A deliberate break, and the check that has to notice it. */
export interface Mutant {
  /** What the broken code does. */
  readonly name: string;
  /** From the root of the project. */
  readonly file: string;
  /** Occurs once in the file. */
  readonly find: string;
  readonly replace: string;
  /** The name of a campaign, or the path of a file of tests. */
  readonly campaign: string;
}
