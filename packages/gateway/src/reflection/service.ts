import {
  type AnyDesc,
  type DescFile,
  type DescService,
  type MessageInitShape,
  toBinary,
} from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
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
import { assertOptions } from "../rpc/options.ts";
import {
  createStreamLimit,
  drainingSignal,
  servicesOf,
  smallMessages,
} from "../rpc/own-services.ts";
import { untilAborted } from "../rpc/streams.ts";

type Response = MessageInitShape<typeof ServerReflectionResponseSchema>;
type Answer = NonNullable<Response["messageResponse"]>;

/** Clients send a few dozen requests. Reading everything takes fewer than this. */
const requestsMax = 1000;

/** A stream whose client reads no answers holds some hundred KiB. Tools have one, for a few requests. */
const streamsMax = 64;

export interface ReflectionOptions {
  /** The services to describe. Default: all on the router. */
  readonly services?: readonly DescService[];
  /** Aborts when the server begins to drain. This ends every stream. Default: never. */
  readonly draining?: AbortSignal;
}

/**
 * Adds `grpc.reflection.v1.ServerReflection` and its older `v1alpha` to a router, with the same gate
 * and interceptors as the other services unless `handler` says otherwise. See
 * https://github.com/grpc/grpc/blob/master/doc/server-reflection.md.
 * @param handler Options of the services, as for `router.service`.
 * @throws {TypeError} for an unknown option.
 */
export function addReflection(
  router: ConnectRouter,
  options: ReflectionOptions = {},
  handler?: Partial<UniversalHandlerOptions>,
): void {
  assertOptions("addReflection", options, { services: "list of objects", draining: "object" });
  const { services } = options;
  const draining = drainingSignal(options.draining);
  const enter = createStreamLimit(streamsMax, "there are too many streams");
  let index: FileIndex | undefined;
  const reflection: ServiceImpl<typeof ServerReflection> = {
    async *serverReflectionInfo(requests, { signal }) {
      if (signal.aborted) return;
      enter(signal);
      // On first use, when the router has all its services.
      index ??= createFileIndex(services ?? servicesOf(router));
      const sent = new Set<IndexedFile>();
      let count = 0;
      // Waiting for requests does not end by itself when the server ends the call.
      for await (const request of untilAborted(untilAborted(requests, draining), signal)) {
        if (++count > requestsMax) {
          const message = `a stream may ask ${requestsMax} questions`;
          throw new ConnectError(message, Code.ResourceExhausted);
        }
        yield {
          validHost: request.host,
          originalRequest: request,
          messageResponse: answerTo(request.messageRequest, index, sent),
        };
      }
    },
  };
  const ofService = { ...smallMessages, ...handler };
  router.service(ServerReflection, reflection, ofService);
  // The older package has the same messages under its own name.
  const older = reflection as unknown as ServiceImpl<typeof ServerReflectionAlpha>;
  router.service(ServerReflectionAlpha, older, ofService);
}

/** @param sent What the client of this stream has already received. */
function answerTo(
  { case: kind, value }: ServerReflectionRequest["messageRequest"],
  index: FileIndex,
  sent: Set<IndexedFile>,
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
      if (!index.bySymbol.has(value)) return notFound;
      const extensionNumber = [...(index.byExtension.get(value)?.keys() ?? [])];
      const answer = { baseTypeName: value, extensionNumber };
      return { case: "allExtensionNumbersResponse", value: answer };
    }
    case "listServices": {
      const service = index.services.map((name) => ({ name }));
      return { case: "listServicesResponse", value: { service } };
    }
    case undefined:
      return errorAnswer(Code.InvalidArgument, "the request asks nothing that is known here");
  }
}

/** The file, and those of its imports that the client does not have yet. */
function filesAnswer(file: IndexedFile | undefined, sent: Set<IndexedFile>): Answer {
  if (file === undefined) return notFound;
  const files = new Set([file]);
  for (const { imports } of files) for (const one of imports) if (!sent.has(one)) files.add(one);
  for (const one of files) sent.add(one);
  const fileDescriptorProto = [...files].map(({ bytes }) => bytes);
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function errorAnswer(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}

const notFound = errorAnswer(Code.NotFound, "nothing of that name is known here");

interface IndexedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly imports: readonly IndexedFile[];
}

/** In the details of errors. Clients that cannot look them up show bytes. */
const errorFiles = [file_google_rpc_error_details, file_google_rpc_status];

type FileIndex = ReturnType<typeof createFileIndex>;

/**
 * Made once. Of two files with one symbol, the first counts. The upstreams of a proxy may have
 * different files of one name, by which clients keep them: the later ones get another name. Google's
 * differ by version alone.
 */
function createFileIndex(described: readonly DescService[]) {
  const byName = new Map<string, IndexedFile>();
  /** By the full name of any declaration: message, field, enum value, method, … */
  const bySymbol = new Map<string, IndexedFile>();
  /** By the full name of the extended message and the extension's number. */
  const byExtension = new Map<string, Map<number, IndexedFile>>();
  const added = new Map<DescFile, IndexedFile>();

  function addFile(desc: DescFile): IndexedFile {
    const known = added.get(desc);
    if (known !== undefined) return known;
    const imports = desc.dependencies.map(addFile);
    const dependency = imports.map(({ name }) => name);
    let { name } = desc.proto;
    let bytes: Uint8Array;
    let other: IndexedFile | undefined;
    for (let count = 2; ; count++) {
      bytes = toBinary(FileDescriptorProtoSchema, { ...desc.proto, name, dependency });
      other = byName.get(name);
      if (other === undefined || name.startsWith("google/") || isEqual(other.bytes, bytes)) break;
      name = `${desc.proto.name.replace(/\.proto$/, "")}~${count}.proto`;
    }
    const file = other ?? { name, bytes, imports };
    added.set(desc, file);
    if (file === other) return file;
    byName.set(name, file);
    for (const type of nestedTypes(desc)) {
      for (const symbol of symbolsOf(type)) if (!bySymbol.has(symbol)) bySymbol.set(symbol, file);
      if (type.kind === "extension") {
        const { typeName } = type.extendee;
        const numbers = byExtension.get(typeName) ?? new Map<number, IndexedFile>();
        byExtension.set(typeName, numbers.set(type.number, file));
      }
    }
    return file;
  }

  for (const file of [...described.map(({ file }) => file), ...errorFiles]) addFile(file);
  const services = described.map(({ typeName }) => typeName).sort();
  return { services, byName, bySymbol, byExtension };
}

function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/** A declaration and all that is declared in it, except nested types, which are visited separately. */
function symbolsOf(desc: Extract<AnyDesc, { typeName: string }>): string[] {
  const { kind, name, typeName } = desc;
  // The values of an enum are siblings of the enum:
  // https://protobuf.dev/programming-guides/proto3/#enum
  const scope = kind === "enum" ? typeName.slice(0, -name.length) : `${typeName}.`;
  const inside: { readonly name: string }[] = [];
  if (desc.kind === "message") inside.push(...desc.fields, ...desc.oneofs);
  else if (desc.kind === "enum") inside.push(...desc.values);
  else if (desc.kind === "service") inside.push(...desc.methods);
  return [typeName, ...inside.map((one) => scope + one.name)];
}
