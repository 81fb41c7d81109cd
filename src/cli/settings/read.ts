import {
  resolveSettings,
  type ServerOptions,
  type ServerSettings,
} from "../../server/settings/settings.ts";
import { SettingsError } from "../../server/settings/settings-error.ts";
import { assembleOptions, type Flags, nameProblem, readGiven } from "./given.ts";
import { WrongSettings } from "./wrong-settings.ts";

/** Settings that are right. */
export interface ReadSettings {
  readonly options: ServerOptions;
  /** The same, whole. */
  readonly settings: ServerSettings;
  /** Has what is found wrong with them later named as the operator wrote it. */
  readonly use: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Reads the settings that a command uses: all, or those named. Of the others, it
 * is not asked whether they are right.
 *
 * @throws {WrongSettings}
 */
export async function readSettings(
  flags: Flags,
  ...only: readonly string[]
): Promise<ReadSettings> {
  const all = await readGiven(flags);
  const isUsed = (name: string) => only.length === 0 || only.includes(name);
  const given = { ...all, values: new Map([...all.values].filter(([name]) => isUsed(name))) };
  for (const line of given.warnings) process.stderr.write(`plant-store: ${line}\n`);
  const { options, problems } = assembleOptions(given);
  if (problems.length > 0) throw new WrongSettings(problems);
  return {
    options,
    settings: resolveSettings(options),
    async use(work) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        throw new WrongSettings(error.problems.map((problem) => nameProblem(problem, given)));
      }
    },
  };
}
