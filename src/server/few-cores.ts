/** Beside the threads that serve, the main one and that of SQLite or of the database want a core. */
const coresBeside = 2;

/** @returns what an operator should know of the cores, or `undefined` when there are enough. */
export function describeFewCores(threads: number, cores: number): string | undefined {
  if (threads === 1 || cores >= threads + coresBeside) return undefined;
  return `--threads ${threads} wants ${threads + coresBeside} cores, and there are ${cores}: requests cost more CPU than with --threads 1`;
}
