/** Logs as lines on standard error, by Pino. */
export { createLogger, createStderrLog, loadLoggerSoon } from "./logger.ts";
export { createObservers } from "./observer.ts";
