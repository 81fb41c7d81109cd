/** The schema version of a database. */
export interface SchemaState {
  /** The number of applied migrations; 0 if the database is empty or missing. */
  readonly version: number;
  /** The number of migrations in this release. */
  readonly latest: number;
}
