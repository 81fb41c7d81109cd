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
import { type CallOptions, type Client, ConnectError, createClient } from "@connectrpc/connect";
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

type Result = MessageInitShape<typeof ClientResponseResultSchema>;
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

export async function makeCall(
  transport: GrpcTransport,
  request: ClientCompatRequest,
): Promise<Result> {
  const call = new Call(transport, request);
  try {
    await call.run();
  } catch (reason) {
    call.fail(ConnectError.from(reason));
  }
  return call.result;
}

class Call {
  readonly result: Mutable<Result> & { payloads: ConformancePayload[] } = { payloads: [] };
  readonly #client: Client<typeof ConformanceService>;
  readonly #request: ClientCompatRequest;
  readonly #leaving = new AbortController();
  readonly #options: CallOptions;
  #sent = 0;
  /** Settled with the next response. */
  #answered = Promise.withResolvers<void>();

  constructor(transport: GrpcTransport, request: ClientCompatRequest) {
    this.#client = createClient(ConformanceService, transport);
    this.#request = request;
    const headers = new Headers();
    for (const { name, value } of request.requestHeaders) {
      for (const one of value) headers.append(name, one);
    }
    this.#options = {
      ...{ headers, signal: this.#leaving.signal },
      ...(request.timeoutMs !== undefined && { timeoutMs: request.timeoutMs }),
      onHeader: (header) => {
        this.result.responseHeaders = pairsOf(header);
      },
      onTrailer: (trailer) => {
        this.result.responseTrailers = pairsOf(trailer);
      },
    };
  }

  async run(): Promise<void> {
    const client = this.#client;
    const options = this.#options;
    const { method } = this.#request;
    switch (method) {
      case "Unary":
        return this.#take(await client.unary(await this.#sendOne(UnaryRequestSchema), options));
      case "Unimplemented":
        await client.unimplemented(await this.#sendOne(UnimplementedRequestSchema), options);
        return;
      case "ClientStream":
        return this.#take(
          await client.clientStream(this.#send(ClientStreamRequestSchema), options),
        );
      case "ServerStream": {
        const message = await this.#sendOne(ServerStreamRequestSchema);
        return await this.#takeAll(client.serverStream(message, options));
      }
      case "BidiStream":
        return await this.#takeAll(client.bidiStream(this.#send(BidiStreamRequestSchema), options));
      default:
        throw new Error(`there is no method ${method}`);
    }
  }

  fail(error: ConnectError): void {
    const { code, rawMessage, details } = error;
    this.result.error = create(ErrorSchema, {
      code: code as number as ErrorCode,
      message: rawMessage,
      details: details.map((detail) =>
        "desc" in detail
          ? anyPack(detail.desc, detail.value as MessageShape<DescMessage>)
          : create(AnySchema, {
              typeUrl: `type.googleapis.com/${detail.type}`,
              value: detail.value,
            }),
      ),
    });
    this.result.numUnsentRequests = this.#request.requestMessages.length - this.#sent;
    if (!(error instanceof AnswerError)) return;
    this.result.responseHeaders ??= pairsOf(error.header);
    this.result.responseTrailers = pairsOf(error.trailer);
  }

  async #sendOne<Desc extends DescMessage>(schema: Desc): Promise<MessageShape<Desc>> {
    const [message] = this.#request.requestMessages;
    if (message === undefined) throw new Error("there is no message");
    await setTimeout(this.#request.requestDelayMs);
    this.#sent = 1;
    this.#cancelAfterSend();
    return fromBinary(schema, message.value);
  }

  async *#send<Desc extends DescMessage>(schema: Desc): AsyncGenerator<MessageShape<Desc>> {
    const { cancel, requestDelayMs, requestMessages, streamType } = this.#request;
    for (const { value } of requestMessages) {
      await setTimeout(requestDelayMs);
      const isAnswered = this.#answered.promise;
      this.#sent++;
      yield fromBinary(schema, value);
      if (streamType === StreamType.FULL_DUPLEX_BIDI_STREAM) await isAnswered;
    }
    if (cancel?.cancelTiming.case === "beforeCloseSend") {
      this.#leaving.abort();
      await new Promise(() => {}); // its stream stays open
    }
    this.#cancelAfterSend();
  }

  #cancelAfterSend(): void {
    const { cancel } = this.#request;
    if (cancel === undefined) return;
    const { cancelTiming: timing } = cancel;
    if (timing.case !== undefined && timing.case !== "afterCloseSendMs") return;
    void setTimeout(timing.value ?? 0).then(() => this.#leaving.abort());
  }

  async #takeAll(responses: AsyncIterable<Response>): Promise<void> {
    const timing = this.#request.cancel?.cancelTiming;
    for await (const response of responses) {
      this.#take(response);
      this.#answered.resolve();
      this.#answered = Promise.withResolvers();
      if (timing?.case !== "afterNumResponses") continue;
      if (this.result.payloads.length === timing.value) this.#leaving.abort();
    }
  }

  #take({ payload = create(ConformancePayloadSchema) }: Response): void {
    this.result.payloads.push(payload);
  }
}

interface Response {
  readonly payload?: ConformancePayload | undefined;
}

function pairsOf(headers: Headers) {
  return [...headers].map(([name, value]) => ({ name, value: [value] }));
}
