import type { CorsOptions } from "connect-gateway";

/** CORS for pages of these origins; undefined for none. Never allows credentials mode. */
export function corsOptions(origins: readonly string[]): CorsOptions | undefined {
  if (origins.length === 0) return undefined;
  return {
    origins,
    // Traced pages, or pages that set request ids, send these: https://www.w3.org/TR/trace-context/
    allowedHeaders: ["Traceparent", "Tracestate", "X-Request-Id"],
    exposedHeaders: ["RateLimit", "RateLimit-Policy", "X-Request-Id"],
  };
}

/** Origins are compared as text, so one in another form than browsers send would never match. */
export function findOriginProblem(origins: readonly string[]): string | undefined {
  const wrong = origins.find((origin) => (origin === "*" ? origins.length > 1 : !isOrigin(origin)));
  if (wrong === undefined) return undefined;
  return `must be origins like https://app.example, or * alone: ${wrong}`;
}

/** In the form that browsers send: https://html.spec.whatwg.org/#ascii-serialisation-of-an-origin. */
function isOrigin(text: string): boolean {
  const parsed = URL.parse(text);
  if (parsed === null || text.includes("*")) return false;
  if (/^https?:$/.test(parsed.protocol)) return parsed.origin === text;
  // Origins of apps and extensions, which URL cannot parse.
  return /^[a-z][a-z\d+.-]*:\/\/[a-z\d._-]+(:\d+)?$/.test(text);
}
