/** Settings of a program: one entry gives its flag, variable, key, help, checks and row in the docs. */
export * from "./common.ts";
export { addSettingFlags } from "./flags.ts";
export { assembleOptions, type Flags, type ReadSettings, readSettings } from "./given.ts";
export {
  createSchema,
  type GivenValue,
  type OptionsOf,
  type Program,
  type Schema,
  type SettingsOf,
  variableOf,
} from "./schema.ts";
export {
  formatValue,
  problemsOf,
  type Setting,
  type SettingProblem,
  SettingsError,
} from "./setting.ts";
export { assertPortTls, assertTlsFiles, findTlsProblems, tlsFilesOf } from "./tls-files.ts";
