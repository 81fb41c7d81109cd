/** Logs as lines on standard error, by Pino: what happened, what went wrong, and one for each request. */
export { type AccessEntry, type AccessLogOptions, createAccessLog } from "./access-log.ts";
export { stackOf } from "./error.ts";
export type { Log } from "./log.ts";
export { logFailures } from "./log-failures.ts";
export { createLogger, loadLoggerSoon } from "./logger.ts";
export { createStderrLog } from "./stderr-log.ts";
