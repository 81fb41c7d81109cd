/** A typed client for the plant store, for Node and browsers. */
import type { Client, Interceptor } from "@connectrpc/connect";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { PlantService } from "../gen/plantstore/v1/plant_service_pb.ts";
import { bearerToken, type TokenSource } from "./client-token.ts";

export { bearerToken, type TokenSource };

export interface PlantClientOptions {
  /** The base URL: `http://127.0.0.1:8080` or `https://example.com/api`. */
  readonly baseUrl: string;
  /** The bearer token, or a function that returns it and is called before every call. */
  readonly token: TokenSource;
  /** The timeout of a call, in milliseconds. Default: none. */
  readonly timeoutMs?: number;
}

/**
 * Speaks Connect in binary over `fetch`: ids are exact `bigint`s. Calls reject with `ConnectError`,
 * of `Code.Unknown` if there is no connection or it was lost: then, too, a retry is safe.
 */
export function createPlantClient(options: PlantClientOptions): Client<typeof PlantService> {
  const transport = createConnectTransport({
    baseUrl: options.baseUrl,
    useBinaryFormat: true,
    interceptors: [checkTexts, bearerToken(options.token)],
    ...(options.timeoutMs !== undefined && { defaultTimeoutMs: options.timeoutMs }),
  });
  return createClient(PlantService, transport);
}

/** UTF-8 cannot carry a lone surrogate. The encoder would replace it. */
const checkTexts: Interceptor = (next) => async (request) => {
  const { plant = {} } = request.message as { readonly plant?: object };
  const isBroken = (text: unknown) => typeof text === "string" && !text.isWellFormed();
  const broken = Object.entries(plant).find(([, text]) => isBroken(text));
  if (broken === undefined) return await next(request);
  const message = `plant.${broken[0]} must not contain a lone surrogate`;
  throw new ConnectError(message, Code.InvalidArgument);
};
