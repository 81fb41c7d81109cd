/** All protocols that pass JSON to a method of FieldService. */
import { Code } from "@connectrpc/connect";
import { codeFromString } from "@connectrpc/connect/protocol-connect";
import { envelope, parseEnvelopes } from "./envelope.ts";
import type { HttpResponse } from "./exchange.ts";
import { jsonOf, type SentRequest } from "./gateway.ts";

export interface JsonWay {
  readonly name: string;
  /** The request with the JSON of one message. */
  request(json: string | Uint8Array): SentRequest;
  /** The code of the answer; undefined for success. */
  codeOf(response: HttpResponse): Code | undefined;
}

const service = "/library.v1.FieldService";

function unary(path: string): Pick<JsonWay, "request"> {
  return { request: (body) => ({ path, headers: { "content-type": "application/json" }, body }) };
}

function enveloped(
  method: string,
  contentType: string,
  version: "1.1" | "2",
): Pick<JsonWay, "request"> {
  return {
    request: (json) => ({
      version,
      path: `${service}/${method}`,
      headers: { "content-type": contentType, te: "trailers" },
      body: envelope(json),
    }),
  };
}

function codeOfConnect({ status, body }: HttpResponse): Code | undefined {
  return status === 200 ? undefined : codeIn(JSON.parse(body.toString()));
}

function codeOfConnectStream({ body }: HttpResponse): Code | undefined {
  const end = parseEnvelopes(body).find(({ flags }) => flags === 2);
  const { error } = JSON.parse(end?.message.toString() ?? "") as { error?: unknown };
  return error === undefined ? undefined : codeIn(error);
}

function codeIn(error: unknown): Code {
  const { code } = error as { code?: string };
  return codeFromString(code ?? "") ?? Code.Unknown;
}

function codeOfGrpc({ headers, trailers }: HttpResponse): Code | undefined {
  return codeOfStatus(trailers.get("grpc-status") ?? headers.get("grpc-status"));
}

function codeOfGrpcWeb({ headers, body }: HttpResponse): Code | undefined {
  const trailer = parseEnvelopes(body).find(({ flags }) => flags === 0x80);
  const status = /^grpc-status: *(\d+)/im.exec(trailer?.message.toString() ?? "")?.[1];
  return codeOfStatus(status ?? headers.get("grpc-status"));
}

function codeOfStatus(status: string | null | undefined): Code | undefined {
  if (status === null || status === undefined) throw new Error("there is no grpc-status");
  return status === "0" ? undefined : Number(status);
}

function codeOfRest(response: HttpResponse): Code | undefined {
  return response.status === 200 ? undefined : (jsonOf(response) as { code: Code }).code;
}

export const restWay: JsonWay = { name: "REST", ...unary("/v1/fields"), codeOf: codeOfRest };

const get: Pick<JsonWay, "request"> = {
  request: (json) => ({
    method: "GET",
    path: `${service}/Echo?connect=v1&encoding=json&base64=1&message=${Buffer.from(json as Uint8Array).toString("base64url")}`,
  }),
};

export const rpcWays: readonly JsonWay[] = [
  { name: "Connect", ...unary(`${service}/Echo`), codeOf: codeOfConnect },
  { name: "Connect, by GET", ...get, codeOf: codeOfConnect },
  ...(["Collect", "Repeat", "Exchange"] as const).map((method) => ({
    name: `Connect, ${method}`,
    ...enveloped(method, "application/connect+json", "2"),
    codeOf: codeOfConnectStream,
  })),
  ...(["Echo", "Collect", "Repeat", "Exchange"] as const).map((method) => ({
    name: `gRPC, ${method}`,
    ...enveloped(method, "application/grpc+json", "2"),
    codeOf: codeOfGrpc,
  })),
  ...(["Echo", "Collect", "Repeat"] as const).map((method) => ({
    name: `gRPC-Web, ${method}`,
    ...enveloped(method, "application/grpc-web+json", "1.1"),
    codeOf: codeOfGrpcWeb,
  })),
];

export const jsonWays: readonly JsonWay[] = [restWay, ...rpcWays];
