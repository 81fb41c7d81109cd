import type { ContextValues } from "@connectrpc/connect";
import type { Compression } from "@connectrpc/connect/protocol";
import { messageTooLarge } from "../codec/codec.ts";
import { guarded } from "../errors/errors.ts";
import { atOnce, BodyBuffer, turnBy } from "../http/body.ts";
import { BodyBudget } from "../http/body-budget.ts";
import { FetchExchange } from "../http/fetch-exchange.ts";
import { gunzip } from "../rest/request/request.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import { type CommonOptions, commonOptionKinds, createGateway } from "./gateway.ts";

/** The further arguments of the runtime: the server in Bun, `info` in Deno, `env` and `ctx` in Workers. */
type Beside = readonly unknown[];

export interface FetchGatewayOptions<B extends Beside = []> extends CommonOptions {
  /** Serves what the gateway does not. Default: a 404. */
  readonly fallback?: (request: Request, ...beside: B) => Response | Promise<Response>;
  /** Creates the context values of a call. */
  readonly contextValues?: (request: Request, ...beside: B) => ContextValues;
  /** The address of a client, from the runtime. Default: unknown. */
  readonly peerAddress?: (request: Request, ...beside: B) => string | undefined;
}

const own = { fallback: "function", contextValues: "function", peerAddress: "function" } as const;
const optionKinds: OptionKindsOf<FetchGatewayOptions> = { ...commonOptionKinds, ...own };

/**
 * The same as `gatewayNodeAdapter` for runtimes that serve by fetch: Bun, Deno, Cloudflare Workers,
 * Hono, Next.js. It needs nothing of Node. Fetch has no trailers, so gRPC gets UNIMPLEMENTED.
 * @throws {RuleError} for a rule that cannot be served, a TypeError for an option of `rest`.
 */
export function gatewayFetchHandler<B extends Beside = []>(
  options: FetchGatewayOptions<B>,
): (request: Request, ...beside: B) => Promise<Response> {
  assertOptions("gatewayFetchHandler", options, optionKinds, ["routes"]);
  const { fallback, contextValues, peerAddress, bodyBudget = new BodyBudget() } = options;
  const gateway = createGateway(options, { compressions: [gzip], codings: [gzip] });

  return async (request, ...beside) => {
    const address = guarded(gateway.onError, () => peerAddress?.(request, ...beside));
    const exchange = new FetchExchange(request, address, bodyBudget);
    const { method, path, headers, problem } = exchange;
    const route = gateway.find(method, path, headers["content-type"] as string | undefined);
    if (route === gateway.notFound && fallback !== undefined && problem === undefined) {
      try {
        return await fallback(request, ...beside);
      } catch (error) {
        gateway.onError(error);
        gateway.answerError(error, exchange);
        return exchange.response;
      }
    }
    void gateway
      .serve(exchange, route, () => contextValues?.(request, ...beside))
      .finally(() => exchange.holding.release());
    return exchange.response;
  };
}

/** The gzip of the platform. */
const gzip: Compression = {
  name: "gzip",
  async compress(bytes) {
    const whole = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream();
    const compressed = new Response(whole.pipeThrough(new CompressionStream("gzip")));
    return new Uint8Array(await compressed.arrayBuffer());
  },
  async decompress(bytes, readMaxBytes) {
    // Deno unpacks all that it gets at once, and workerd all in one turn, before anyone can read.
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += 16_384) {
        // Not `nextTurn`: all share its turns, which take 2 ms on Deno.
        if (at > 0) await turnBy(atOnce);
        yield bytes.subarray(at, at + 16_384);
      }
    }
    const unpacked = new BodyBuffer();
    for await (const chunk of bytes.length === 0 ? [] : gunzip(pieces())) {
      void unpacked.append(chunk);
      if (unpacked.length > readMaxBytes) throw messageTooLarge(readMaxBytes);
    }
    return unpacked.bytes as Uint8Array<ArrayBuffer>;
  },
};
