import { Code, ConnectError, type ContextValues } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { FetchExchange } from "../http/fetch-exchange.ts";
import { type CommonOptions, createGateway } from "./gateway.ts";

export interface FetchGatewayOptions extends CommonOptions {
  /** Serves what the gateway does not. Default: a 404. */
  readonly fallback?: (request: Request) => Response | Promise<Response>;
  /** Makes the context values of a call. */
  readonly contextValues?: (request: Request) => ContextValues;
  /** The address of a caller, as the runtime tells it. Default: unknown. */
  readonly peerAddress?: (request: Request) => string | undefined;
}

/**
 * The same as `gatewayNodeAdapter` for runtimes that serve by fetch: Bun, Deno, Cloudflare Workers,
 * Hono, Next.js. It needs nothing of Node.
 *
 * Fetch has no trailers, so gRPC gets UNIMPLEMENTED. gRPC-Web, Connect and REST are served.
 *
 * @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`.
 */
export function gatewayFetchHandler(
  options: FetchGatewayOptions,
): (request: Request) => Promise<Response> {
  const { fallback, contextValues, peerAddress } = options;
  const gateway = createGateway(options, { compressions: [gzip], codings: [gzip] });

  return (request) => {
    const exchange = new FetchExchange(request, peerAddress?.(request));
    const route = gateway.find(exchange.method, exchange.target);
    if (route.kind === "not_found" && fallback !== undefined) {
      return Promise.resolve(fallback(request));
    }
    void gateway.serve({ exchange, route }, undefined, () => contextValues?.(request));
    return exchange.response;
  };
}

/** The gzip of the platform. */
const gzip: Compression = {
  name: "gzip",
  compress: (bytes) => through(bytes, new CompressionStream("gzip")),
  async decompress(bytes, readMaxBytes) {
    try {
      return await through(bytes, new DecompressionStream("gzip"), readMaxBytes);
    } catch (error) {
      if (error instanceof ConnectError) throw error;
      const message = "the message is not valid gzip";
      throw new ConnectError(message, Code.InvalidArgument, undefined, undefined, error);
    }
  },
};

/** Stops when more comes out than may. */
async function through(
  bytes: Uint8Array,
  transform: CompressionStream | DecompressionStream,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array<ArrayBuffer>> {
  const source = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
  const reader = source.pipeThrough(transform).getReader();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    length += value.byteLength;
    if (length <= bytesMax) continue;
    await reader.cancel();
    const message = `message is larger than configured readMaxBytes ${bytesMax} after decompression`;
    throw new ConnectError(message, Code.ResourceExhausted);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
