/** Loaded before a program with `--import`: says on standard error which packages of OpenTelemetry it loads. */
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    // Not what they load themselves: the pipe has no room for hundreds of lines.
    const isOurs = !context.parentURL?.includes("@opentelemetry");
    if (isOurs && resolved.url.includes("@opentelemetry")) writeSync(2, `loaded ${specifier}\n`);
    return resolved;
  },
});
