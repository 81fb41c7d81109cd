/** A setting that is wrong or contradicts another. Stops the start, never a request. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
  /** The option at fault, for who knows it by another name (a flag, a variable). */
  readonly setting: string;

  constructor(setting: string, problem: string, options?: { cause: unknown }) {
    super(`${setting}: ${problem}`, options);
    this.setting = setting;
  }
}
