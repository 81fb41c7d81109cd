/** The listener of the operators: metrics, and nothing that clients of the service need. */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { isRebindable, parseRequestTarget } from "../http/target.ts";
import type { ServiceMetrics } from "./service-metrics.ts";

const requestTimeoutMs = 5000;
/** Longer than most scrape intervals, so that a scraper keeps its connection. */
const idleTimeoutMs = 75_000;
const closeTimeoutMs = 1000;

/**
 * Serves `GET /metrics`, and `/healthz` and `/readyz` to probes that the port of the service does
 * not admit, as they have no client certificate. Metrics are not for pages of strangers, which
 * reach this by DNS rebinding: a Host that is a domain must be that of `place`.
 * @throws the system's error if it cannot listen, with `listener: "admin"`.
 */
export async function openAdmin(
  place: { readonly host: string; readonly port: number },
  metrics: Pick<ServiceMetrics, "registry" | "isReady">,
) {
  const server = http.createServer({
    maxHeaderSize: 8192,
    headersTimeout: requestTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: 1000,
    keepAliveTimeout: idleTimeoutMs,
  });
  server.maxConnections = 16; // scrapers are few
  server.setTimeout(idleTimeoutMs);
  let rendering: Promise<string> | undefined;

  async function answer({ method, url = "", headers: { host = "" } }: http.IncomingMessage) {
    const { path } = parseRequestTarget(url);
    if (!paths.includes(path)) return plain(404, `there is only ${paths.join(", ")}`);
    if (method !== "GET" && method !== "HEAD") {
      return plain(405, "the method must be GET or HEAD", { allow: "GET, HEAD" });
    }
    if (path === "/healthz") return plain(200, "the process runs");
    if (path === "/readyz" && !metrics.isReady()) return plain(503, "the server is not ready");
    if (path === "/readyz") return plain(200, "the server is ready");
    if (isRebindable(host) && URL.parse(`http://${host}`)?.hostname !== place.host.toLowerCase()) {
      return plain(403, "the Host must be an IP address, a name without a dot, or --admin-host");
    }
    // Scrapes at the same time share one text: a connection may ask without end, and take no answer.
    rendering ??= metrics.registry.metrics().finally(() => (rendering = undefined));
    const body = await rendering;
    return { status: 200, header: { "content-type": metrics.registry.contentType }, body };
  }

  server.on("request", (request, response) => {
    const answered = answer(request).catch(() => plain(500, "the state could not be read"));
    void answered.then(({ status, header, body }) => {
      response.writeHead(status, { "content-length": Buffer.byteLength(body), ...header });
      response.end(body); // Node leaves the body of an answer to HEAD out by itself
    });
  });
  try {
    server.listen(place);
    await once(server, "listening");
  } catch (error) {
    throw Object.assign(error as Error, { listener: "admin" });
  }

  async function close(): Promise<void> {
    const closed = once(server, "close");
    server.close();
    const cutOff = setTimeout(() => server.closeAllConnections(), closeTimeoutMs);
    await closed;
    clearTimeout(cutOff);
  }

  return { address: server.address() as AddressInfo, close };
}

const paths = ["/metrics", "/healthz", "/readyz"];

function plain(status: number, text: string, header: { readonly allow?: string } = {}) {
  const type = { "content-type": "text/plain; charset=utf-8", connection: "close" };
  return { status, header: { ...type, ...header }, body: `${text}\n` };
}
