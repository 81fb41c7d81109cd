import type { CorsOptions } from "connect-gateway";

/** CORS for pages of these origins; undefined for none. Never allows credentials mode. */
export function corsOptions(origins: readonly string[]): CorsOptions | undefined {
  if (origins.length === 0) return undefined;
  return { origins, exposedHeaders: ["RateLimit", "RateLimit-Policy"] };
}
