/** Limits of the requests with one token, and from one address. */
export { limitRates, type RateLimits } from "./gate.ts";
