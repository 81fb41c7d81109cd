/** What is wrong with one setting. */
export interface SettingProblem {
  /** The option's identifier in the schema, for example `bodyBytesMax`; to operators, as they wrote it. */
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
  /** The same in words, a line each. */
  readonly lines: readonly string[];

  constructor(problems: readonly SettingProblem[], options?: { cause: unknown }) {
    const lines = problems.map(({ setting, problem }) => `${setting}: ${problem}`);
    super(lines.join("; "), options);
    this.problems = problems;
    this.lines = lines;
  }
}

/** What work finds wrong with settings. */
export function problemsOf(work: () => unknown): readonly SettingProblem[] {
  try {
    work();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}
