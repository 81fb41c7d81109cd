/**
 * Reports a background problem that does not fail a call, for the log: a token file that cannot be
 * read, a key set that cannot be fetched.
 *
 * @param message One line, without any part of a token.
 */
export type ReportProblem = (message: string, cause?: unknown) => void;
