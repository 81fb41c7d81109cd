import type { DescService, MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type ServiceImpl } from "@connectrpc/connect";
import type { UniversalHandlerOptions } from "@connectrpc/connect/protocol";
import { file_google_rpc_error_details } from "../../gen/google/rpc/error_details_pb.ts";
import { file_google_rpc_status } from "../../gen/google/rpc/status_pb.ts";
import {
  ServerReflection,
  type ServerReflectionRequest,
  type ServerReflectionResponseSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { assertOptions, type OptionKindsOf } from "../rpc/options.ts";
import {
  createStreamLimit,
  drainingSignal,
  servicesOf,
  smallMessages,
} from "../rpc/own-services.ts";
import { untilAborted } from "../rpc/streams.ts";
import { createFileIndex, type FileIndex, type IndexedFile } from "./file-index.ts";

type Answer = NonNullable<
  MessageInitShape<typeof ServerReflectionResponseSchema>["messageResponse"]
>;

/** Clients send a few dozen requests. Reading everything takes fewer than this. */
const requestsMax = 1000;

/**
 * Concurrent streams. A stream whose client reads no answers holds some hundred KiB, and a
 * connection may have hundreds. Tools have one, for the duration of a few requests.
 */
const streamsMax = 64;

export interface ReflectionOptions {
  /** The services to describe. Default: all on the router. */
  readonly services?: readonly DescService[];
  /** Aborts when the server begins to drain. This ends every stream. Default: never. */
  readonly draining?: AbortSignal;
}

const optionKinds: OptionKindsOf<ReflectionOptions> = { services: "list", draining: "object" };

/**
 * Adds `grpc.reflection.v1.ServerReflection` and its older `v1alpha` to a router. They return the
 * protos of its services to clients. They have the same gate and interceptors as the other services
 * unless `handler` says otherwise. See
 * https://github.com/grpc/grpc/blob/master/doc/server-reflection.md.
 *
 * @param handler Options of the services, as for `router.service`.
 * @throws {TypeError} for an unknown option.
 */
export function addReflection(
  router: ConnectRouter,
  options: ReflectionOptions = {},
  handler?: Partial<UniversalHandlerOptions>,
): void {
  assertOptions("addReflection", options, optionKinds);
  const { services, draining } = options;
  const described = () => services ?? servicesOf(router);
  const reflection = createReflectionService(described, drainingSignal(draining));
  const ofService = { ...smallMessages, ...handler };
  router.service(ServerReflection, reflection, ofService);
  // The older package has the same messages under its own name.
  const older = reflection as unknown as ServiceImpl<typeof ServerReflectionAlpha>;
  router.service(ServerReflectionAlpha, older, ofService);
}

/** @param draining When it aborts, every stream ends with its reason. */
function createReflectionService(
  services: () => readonly DescService[],
  draining: AbortSignal,
): ServiceImpl<typeof ServerReflection> {
  const enter = createStreamLimit(streamsMax, "there are too many streams");
  let known: Pick<Known, "index" | "names"> | undefined;
  return {
    async *serverReflectionInfo(requests, { signal }) {
      if (signal.aborted) return;
      enter(signal);
      known ??= describe(services()); // on first use, when the router has all its services
      const { index, names } = known;
      const sent = new Set<IndexedFile>();
      let count = 0;
      // Waiting for requests does not end by itself when the server ends the call.
      const asked = untilAborted(untilAborted(requests, draining), signal);
      for await (const request of asked) {
        if (++count > requestsMax) {
          const message = `a stream may ask ${requestsMax} questions`;
          throw new ConnectError(message, Code.ResourceExhausted);
        }
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answerTo(request.messageRequest, { index, names, sent }),
        };
      }
    },
  };
}

/**
 * The types in the details of errors. No service needs to import them, and a client that cannot
 * look them up shows bytes instead of the invalid field.
 */
const errorFiles = [file_google_rpc_error_details, file_google_rpc_status];

function describe(services: readonly DescService[]): Pick<Known, "index" | "names"> {
  const names = services.map(({ typeName }) => typeName).sort();
  const files = [...services.map(({ file }) => file), ...errorFiles];
  return { index: createFileIndex(files), names };
}

interface Known {
  readonly index: FileIndex;
  /** The names of the services. */
  readonly names: readonly string[];
  /** What the client of this stream has already received. */
  readonly sent: Set<IndexedFile>;
}

function answerTo(
  { case: kind, value }: ServerReflectionRequest["messageRequest"],
  { index, names, sent }: Known,
): Answer {
  switch (kind) {
    case "fileByFilename":
      return filesAnswer(index.byName.get(value), sent);
    case "fileContainingSymbol":
      return filesAnswer(index.bySymbol.get(value), sent);
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = value;
      return filesAnswer(index.byExtension.get(containingType)?.get(extensionNumber), sent);
    }
    case "allExtensionNumbersOfType": {
      if (!index.messages.has(value)) return notFound;
      const extensionNumber = [...(index.byExtension.get(value)?.keys() ?? [])];
      return {
        case: "allExtensionNumbersResponse",
        value: { baseTypeName: value, extensionNumber },
      };
    }
    case "listServices":
      return {
        case: "listServicesResponse",
        value: { service: names.map((name) => ({ name })) },
      };
    case undefined:
      return errorAnswer(Code.InvalidArgument, "the request asks nothing that is known here");
  }
}

/** The file, and those of its imports that the client does not have yet. */
function filesAnswer(file: IndexedFile | undefined, sent: Set<IndexedFile>): Answer {
  if (file === undefined) return notFound;
  const files = new Set([file]);
  for (const { imports } of files) {
    for (const one of imports) if (!sent.has(one)) files.add(one);
  }
  for (const one of files) sent.add(one);
  const fileDescriptorProto = [...files].map(({ bytes }) => bytes);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

const notFound = errorAnswer(Code.NotFound, "nothing of that name is known here");
