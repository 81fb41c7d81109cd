/** One call that the suite asks for: its messages, when it is canceled, and how it ends. */
import { setTimeout } from "node:timers/promises";
import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
} from "@bufbuild/protobuf";
import { AnySchema, anyPack } from "@bufbuild/protobuf/wkt";
import { type CallOptions, ConnectError, createClient } from "@connectrpc/connect";
import { AnswerError, type GrpcTransport } from "connect-gateway/client";
import type {
  ClientCompatRequest,
  ClientResponseResultSchema,
} from "../gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { type Code as ErrorCode, StreamType } from "../gen/connectrpc/conformance/v1/config_pb.ts";
import {
  BidiStreamRequestSchema,
  ClientStreamRequestSchema,
  type ConformancePayload,
  ConformancePayloadSchema,
  ConformanceService,
  ErrorSchema,
  ServerStreamRequestSchema,
  UnaryRequestSchema,
  UnimplementedRequestSchema,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { describePairs } from "../server/answer.ts";

type Result = MessageInitShape<typeof ClientResponseResultSchema>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export async function makeCall(
  transport: GrpcTransport,
  request: ClientCompatRequest,
): Promise<Result> {
  const { cancel, method, requestDelayMs, requestMessages, streamType, timeoutMs } = request;
  const timing = cancel?.cancelTiming;
  const result: Mutable<Result> & { payloads: ConformancePayload[] } = { payloads: [] };
  const client = createClient(ConformanceService, transport);
  const leaving = new AbortController();
  const headers = new Headers();
  for (const { name, value } of request.requestHeaders) {
    for (const one of value) headers.append(name, one);
  }
  const options: CallOptions = {
    ...{ headers, signal: leaving.signal },
    ...(timeoutMs !== undefined && { timeoutMs }),
    onHeader: (header) => {
      result.responseHeaders = describePairs(header);
    },
    onTrailer: (trailer) => {
      result.responseTrailers = describePairs(trailer);
    },
  };
  let sent = 0;
  /** Settled with the next response. */
  let answered = Promise.withResolvers<void>();

  try {
    await run();
  } catch (reason) {
    fail(ConnectError.from(reason));
  }
  return result;

  async function run(): Promise<void> {
    switch (method) {
      case "Unary":
        return take(await client.unary(await sendOne(UnaryRequestSchema), options));
      case "Unimplemented":
        await client.unimplemented(await sendOne(UnimplementedRequestSchema), options);
        return;
      case "ClientStream":
        return take(await client.clientStream(send(ClientStreamRequestSchema), options));
      case "ServerStream": {
        const message = await sendOne(ServerStreamRequestSchema);
        return await takeAll(client.serverStream(message, options));
      }
      case "BidiStream":
        return await takeAll(client.bidiStream(send(BidiStreamRequestSchema), options));
      default:
        throw new Error(`there is no method ${method}`);
    }
  }

  function fail(error: ConnectError): void {
    const { code, rawMessage: message, details } = error;
    result.error = create(ErrorSchema, {
      ...{ code: code as number as ErrorCode, message },
      details: details.map((detail) =>
        "desc" in detail
          ? anyPack(detail.desc, detail.value as MessageShape<DescMessage>)
          : create(AnySchema, {
              typeUrl: `type.googleapis.com/${detail.type}`,
              value: detail.value,
            }),
      ),
    });
    result.numUnsentRequests = requestMessages.length - sent;
    if (!(error instanceof AnswerError)) return;
    result.responseHeaders ??= describePairs(error.header);
    result.responseTrailers = describePairs(error.trailer);
  }

  async function sendOne<Desc extends DescMessage>(schema: Desc): Promise<MessageShape<Desc>> {
    const [message] = requestMessages;
    if (message === undefined) throw new Error("there is no message");
    await setTimeout(requestDelayMs);
    sent = 1;
    cancelAfterSend();
    return fromBinary(schema, message.value);
  }

  async function* send<Desc extends DescMessage>(schema: Desc): AsyncGenerator<MessageShape<Desc>> {
    for (const { value } of requestMessages) {
      await setTimeout(requestDelayMs);
      const isAnswered = answered.promise;
      sent++;
      yield fromBinary(schema, value);
      if (streamType === StreamType.FULL_DUPLEX_BIDI_STREAM) await isAnswered;
    }
    if (timing?.case === "beforeCloseSend") {
      leaving.abort();
      await new Promise(() => {}); // its stream stays open
    }
    cancelAfterSend();
  }

  function cancelAfterSend(): void {
    if (timing === undefined) return;
    if (timing.case !== undefined && timing.case !== "afterCloseSendMs") return;
    void setTimeout(timing.value ?? 0).then(() => leaving.abort());
  }

  async function takeAll(responses: AsyncIterable<Response>): Promise<void> {
    for await (const response of responses) {
      take(response);
      answered.resolve();
      answered = Promise.withResolvers();
      if (timing?.case !== "afterNumResponses") continue;
      if (result.payloads.length === timing.value) leaving.abort();
    }
  }

  function take({ payload = create(ConformancePayloadSchema) }: Response): void {
    result.payloads.push(payload);
  }
}

type Response = { readonly payload?: ConformancePayload | undefined };
