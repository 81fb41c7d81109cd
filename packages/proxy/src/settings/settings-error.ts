/** What is wrong with one setting. */
export interface SettingProblem {
  /** The option's identifier in the schema, for example `bodyBytesMax`. */
  readonly setting: string;
  /** One line, without the value of a secret. */
  readonly problem: string;
  /** Another option named in the text, for callers that translate names to flags or variables. */
  readonly other?: string;
}

/** Settings are invalid or contradict each other. Thrown at startup only, never for a request. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  /** At least one. */
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[], options?: { cause: unknown }) {
    super(problems.map(({ setting, problem }) => `${setting}: ${problem}`).join("; "), options);
    this.problems = problems;
  }
}
