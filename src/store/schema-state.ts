/** How far the schema of a database is. */
export interface SchemaState {
  /** How many migrations were applied; 0 for a database that is empty or missing. */
  readonly version: number;
  /** How many this release knows. */
  readonly latest: number;
}
