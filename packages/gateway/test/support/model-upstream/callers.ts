/** Calls of all kinds of the model upstream, through a gateway, and how they end. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { FieldService, file_library_v1_fields } from "../../gen/library/v1/fields_pb.ts";
import { descriptorSetOf } from "../descriptor-set.ts";
import type { Planned } from "./answer.ts";

/** Of the service of the model upstream. */
export const modelDescriptors: Uint8Array = descriptorSetOf(file_library_v1_fields);

/** How a call has ended: with the ids of its messages, or an error. */
export interface Outcome {
  readonly code: number;
  readonly message: string;
  readonly ids: readonly string[];
}

export interface Caller {
  readonly name: string;
  /** How many messages a success has. */
  readonly answers: number;
  call(planned: Planned, timeoutMs: number | undefined): Promise<Outcome>;
}

export function openCallers(url: string): readonly Caller[] {
  const options = { baseUrl: url, httpVersion: "2" } as const;
  const transports = {
    gRPC: createGrpcTransport({ baseUrl: url }),
    "gRPC-Web": createGrpcWebTransport(options),
    Connect: createConnectTransport(options),
  };
  const callers = Object.entries(transports).flatMap(([protocol, transport]): Caller[] => {
    const client = createClient(FieldService, transport);
    const of = (timeoutMs: number | undefined) => (timeoutMs === undefined ? {} : { timeoutMs });
    const messages = async function* (string: string, count: number) {
      for (let i = 0; i < count; i++) yield { string };
    };
    return [
      {
        ...{ name: `${protocol} unary`, answers: 1 },
        call: (planned, ms) =>
          outcomeOf([client.echo({ string: JSON.stringify(planned) }, of(ms))]),
      },
      {
        ...{ name: `${protocol} client stream`, answers: 1 },
        call: (planned, ms) =>
          outcomeOf([client.collect(messages(JSON.stringify(planned), 3), of(ms))]),
      },
      {
        ...{ name: `${protocol} server stream`, answers: 2 },
        call: (planned, ms) =>
          outcomeOf(client.repeat({ string: JSON.stringify(planned) }, of(ms))),
      },
      {
        ...{ name: `${protocol} streams`, answers: 3 },
        call: (planned, ms) =>
          outcomeOf(client.exchange(messages(JSON.stringify(planned), 3), of(ms))),
      },
    ];
  });
  return [...callers, { name: "REST", answers: 1, call: (planned) => callRest(url, planned) }];
}

async function outcomeOf(
  answers: AsyncIterable<{ string: string }> | readonly Promise<{ string: string }>[],
): Promise<Outcome> {
  const ids: string[] = [];
  try {
    for await (const { string } of answers) ids.push(string);
    return { code: 0, message: "", ids };
  } catch (reason) {
    const { code, rawMessage } = ConnectError.from(reason);
    return { code, message: rawMessage, ids };
  }
}

async function callRest(url: string, planned: Planned): Promise<Outcome> {
  const request = {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ string: JSON.stringify(planned) }),
  };
  try {
    const response = await fetch(`${url}/v1/fields`, request);
    const body = (await response.json()) as { string?: string; code?: number; message?: string };
    if (response.status === 200) return { code: 0, message: "", ids: [`${body.string}`] };
    return { code: body.code ?? Code.Unknown, message: `${body.message}`, ids: [] };
  } catch (error) {
    return { code: Code.Unknown, message: `no answer of the gateway: ${error}`, ids: [] };
  }
}
