/** Loaded before a program with `--import`: says on standard error what of OpenTelemetry that loads. */
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    if (resolved.url.includes("@opentelemetry")) writeSync(2, `loaded ${specifier}\n`);
    return resolved;
  },
});
