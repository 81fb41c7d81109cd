/** The one port: HTTP/1.1 and HTTP/2 in plaintext, or over TLS, with every limit, and a drain. */
export { defaultLimits, type PortLimits } from "./limits.ts";
export type { TrafficObserver } from "./port.ts";
export type { OnRefusal, Refusal, RefusalKind } from "./refusal.ts";
export {
  type ServedOptions,
  type ServeOptions,
  type Server,
  type ServerLifetime,
  serve,
} from "./serve.ts";
export { readCa, readTlsMaterial, type TlsFiles, TlsFilesError, type TlsMaterial } from "./tls.ts";
