/**
 * Preloaded into a program with `--import`. Prints the OpenTelemetry packages that it loads to
 * stderr.
 */
import { writeSync } from "node:fs";
import { registerHooks } from "node:module";

registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    // Skips what they load themselves: the pipe has no room for hundreds of lines.
    const isOurs = !context.parentURL?.includes("@opentelemetry");
    if (isOurs && resolved.url.includes("@opentelemetry")) writeSync(2, `loaded ${specifier}\n`);
    return resolved;
  },
});
