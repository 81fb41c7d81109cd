/** What is wrong with one setting. */
export interface SettingProblem {
  /** The option at fault, by its identifier in the schema, for example `bodyBytesMax`. */
  readonly setting: string;
  /** What is wrong, in one line, without the value of a secret. */
  readonly problem: string;
  /** Another option that the text names, for who knows both by other names (flags, variables). */
  readonly other?: string;
}

/** Settings that are wrong or contradict each other. Stops the start, never a request. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  /** At least one. */
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[], options?: { cause: unknown }) {
    super(problems.map(({ setting, problem }) => `${setting}: ${problem}`).join("; "), options);
    this.problems = problems;
  }
}
