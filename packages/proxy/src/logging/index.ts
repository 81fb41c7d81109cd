/** Logs as lines on standard error, by Pino. */
export { createLogger, loadLoggerSoon } from "./logger.ts";
export { createObservers } from "./observer.ts";
export { createStderrLog } from "./stderr-log.ts";
