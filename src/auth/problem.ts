/**
 * Told of what goes wrong behind the scenes and does not fail a call: a token
 * file that cannot be read, a key set that cannot be fetched. For the log.
 *
 * @param message One line, without any part of a token.
 */
export type ReportProblem = (message: string, cause?: unknown) => void;
