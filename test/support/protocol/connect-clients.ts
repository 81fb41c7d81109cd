/** The connect-es clients. */
import { type Client, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { PlantService } from "../../../gen/plantstore/v1/plant_service_pb.ts";
import { outcomeFrom, refusalFrom } from "./message.ts";
import {
  authorizationOf,
  type CallOptions,
  type Outcome,
  type PlantInput,
  type Protocol,
} from "./protocol.ts";

async function create(
  client: Client<typeof PlantService>,
  plant: PlantInput,
  options: CallOptions = {},
): Promise<Outcome> {
  const authorization = authorizationOf(options);
  try {
    return outcomeFrom(
      await client.createPlant(
        { plant },
        {
          ...(authorization !== null && { headers: { authorization } }),
          ...(options.timeoutMs !== undefined && { timeoutMs: options.timeoutMs }),
        },
      ),
    );
  } catch (error) {
    if (error instanceof ConnectError) return refusalFrom(error, undefined);
    throw error;
  }
}

function overHttp1(name: string, createTransport: (baseUrl: string) => Transport): Protocol {
  return {
    name,
    open(url) {
      const client = createClient(PlantService, createTransport(url));
      return {
        create: (plant, options) => create(client, plant, options),
        [Symbol.dispose]: () => {},
      };
    },
  };
}

function overHttp2(
  name: string,
  createTransport: (options: { baseUrl: string; sessionManager: Http2SessionManager }) => Transport,
): Protocol {
  return {
    name,
    open(url) {
      const sessionManager = new Http2SessionManager(url);
      const transport = createTransport({ baseUrl: url, sessionManager });
      const client = createClient(PlantService, transport);
      return {
        create: (plant, options) => create(client, plant, options),
        [Symbol.dispose]: () => sessionManager.abort(),
      };
    },
  };
}

export const connectClients: readonly Protocol[] = [
  overHttp1("the Connect client, JSON over HTTP/1.1", (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  ),
  overHttp2("the Connect client, binary over HTTP/2", (options) =>
    createConnectTransport({ ...options, httpVersion: "2" }),
  ),
  overHttp1("the gRPC-Web client over HTTP/1.1", (baseUrl) =>
    createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  ),
  overHttp2("the gRPC client of connect-es", (options) => createGrpcTransport(options)),
];
