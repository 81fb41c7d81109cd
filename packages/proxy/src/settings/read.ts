import {
  assembleOptions,
  type Flags,
  type GivenSettings,
  nameProblem,
  readGiven,
} from "./given.ts";
import type { Named, Program } from "./program.ts";
import { SettingsError } from "./settings-error.ts";

/** Settings that are right. */
export interface ReadSettings<Options, Settings> {
  readonly options: Options;
  /** The same, whole. */
  readonly settings: Settings;
  /** Has what is found wrong with them later named as the operator wrote it. */
  readonly use: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * Reads the settings that a command uses: all, or those named. Of the others, it
 * is not asked whether they are right.
 *
 * @throws {SettingsError} in the operator's words.
 */
export async function readSettings<Options, Settings>(
  program: Program<Options, Settings>,
  flags: Flags,
  ...only: readonly string[]
): Promise<ReadSettings<Options, Settings>> {
  const all = await readGiven(program, flags);
  const isUsed = (name: string) => only.length === 0 || only.includes(name);
  const given = { ...all, values: new Map([...all.values].filter(([name]) => isUsed(name))) };
  warn(program, given);
  const { options, problems } = assembleOptions(program, given, isUsed);
  if (problems.length > 0) throw new SettingsError(problems);
  return {
    options,
    // A command that uses some may lack what others need.
    get settings() {
      return program.resolve(options);
    },
    async use(work) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        throw new SettingsError(error.problems.map((one) => nameProblem(program, one, given)));
      }
    },
  };
}

export function warn({ name }: Named, { warnings }: GivenSettings): void {
  for (const line of warnings) process.stderr.write(`${name}: ${line}\n`);
}
