import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * V8's `gc`, which must be enabled explicitly. Collects synchronously, everything unless told
 * otherwise.
 */
export function openCollector(): (options?: { readonly type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
