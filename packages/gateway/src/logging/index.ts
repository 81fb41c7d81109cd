/** What a service tells its log: what went wrong, and one line for each request. */
export { type AccessEntry, type AccessLogOptions, createAccessLog } from "./access-log.ts";
export { type DescribedError, describeError, stackOf } from "./error.ts";
export type { Log } from "./log.ts";
export { logFailures } from "./log-failures.ts";
export { describeRefusal } from "./reason.ts";
export { requestIdHeader, requestIdKey } from "./request-id.ts";
