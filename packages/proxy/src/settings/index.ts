/** Settings of a program: one entry gives its flag, variable, key, help, checks and row in the docs. */
export * from "./common.ts";
export { addSettingFlags } from "./flags.ts";
export { assembleOptions, type Flags, type ReadSettings, readSettings } from "./given.ts";
export { type GivenValue, type Program, variableOf } from "./program.ts";
export { createSchema, type OptionsOf, type Schema, type SettingsOf } from "./schema.ts";
export { formatValue, type Setting } from "./setting.ts";
export { problemsOf, type SettingProblem, SettingsError } from "./settings-error.ts";
export { assertPortTls, assertTlsFiles, findTlsProblems, tlsFilesOf } from "./tls-files.ts";
