import type { CorsOptions } from "connect-gateway";

/** What pages of these origins may do; undefined where none may. No page may send credentials of its own. */
export function corsOptions(origins: readonly string[]): CorsOptions | undefined {
  if (origins.length === 0) return undefined;
  return {
    origins,
    // Pages that are traced, or give their requests ids, send these: https://www.w3.org/TR/trace-context/
    allowedHeaders: ["Traceparent", "Tracestate", "X-Request-Id"],
    exposedHeaders: ["RateLimit", "RateLimit-Policy", "X-Request-Id"],
  };
}

/** Origins are compared as text, so one that no browser writes so would never match. */
export function findOriginProblem(origins: readonly string[]): string | undefined {
  const wrong = origins.find((origin) => (origin === "*" ? origins.length > 1 : !isOrigin(origin)));
  if (wrong === undefined) return undefined;
  return `must be origins like https://app.example, or * alone: ${wrong}`;
}

/** As browsers write them: https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin. */
function isOrigin(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || text.includes("*")) return false;
  if (/^https?:$/.test(parsed.protocol)) return parsed.origin === text;
  // Those of apps and extensions, whose origin URL does not know.
  return /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/.test(text);
}
