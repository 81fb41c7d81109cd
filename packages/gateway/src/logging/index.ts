/** Logs failures, and one line for each request. */
export {
  type AccessEntry,
  type AccessLogOptions,
  createAccessLog,
  requestIdHeader,
  requestIdKey,
} from "./access-log.ts";
export { describeError, type Log, logFailures } from "./log-failures.ts";
export { describeRefusal } from "./reason.ts";
