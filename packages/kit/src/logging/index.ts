/** Logs as lines on standard error, by Pino. */
export { createStderrLog, getLogger, loadLoggerSoon } from "./logger.ts";
export { createObservers } from "./observer.ts";
