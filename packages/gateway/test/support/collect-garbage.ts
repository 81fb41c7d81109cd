import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** V8's own `gc`, which a process has to ask for: collects at once, all there is unless told otherwise. */
export function openCollector(): (options?: { readonly type: "minor" }) => void {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
}
