/** A setting that is wrong or contradicts another. Stops the start, never a request. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}
