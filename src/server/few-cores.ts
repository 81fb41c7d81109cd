/** Besides the serving threads, the main thread and the one of SQLite or PostgreSQL need a core. */
const coresBeside = 2;

/** @returns a warning for the operator; undefined if there are enough cores. */
export function describeFewCores(threads: number, cores: number): string | undefined {
  if (threads === 1 || cores >= threads + coresBeside) return undefined;
  return `--threads ${threads} wants ${threads + coresBeside} cores, and there are ${cores}: requests cost more CPU than with --threads 1`;
}
