import { fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import type { GrpcTransport } from "connect-gateway/client";
import {
  ServerReflection,
  ServerReflectionAlpha,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "connect-gateway/reflection";
import { createDescriptors, DescriptorError, type Descriptors } from "./descriptors.ts";
import { wellKnownFiles } from "./well-known-files.ts";

export interface ReflectServicesOptions {
  /** Full names of the services that are read. Default: all that the upstream lists, but for `grpc.*`. */
  readonly services?: readonly string[] | undefined;
  /** How long it may take, in ms. Default: 10 s. */
  readonly timeoutMs?: number;
}

const timeoutMsDefault = 10_000;

/** More than servers have, so that one which names ever more of them comes to an end. */
const filesMax = 10_000;

/**
 * Reads the services of an upstream from its server reflection, v1 or else v1alpha.
 *
 * @throws {DescriptorError} for an answer that is wrong or not whole: all of it is discarded.
 * @throws {ConnectError} of the upstream, or of the way to it.
 */
export async function reflectServices(
  transport: GrpcTransport,
  { services, timeoutMs = timeoutMsDefault }: ReflectServicesOptions = {},
): Promise<Descriptors> {
  for (const service of [ServerReflection, ServerReflectionAlpha]) {
    // Both packages have the same messages.
    const { serverReflectionInfo } = createClient(service as typeof ServerReflection, transport);
    const requests = createWritableIterable<Request>();
    const ended = new AbortController();
    const { signal } = ended;
    const answers = serverReflectionInfo(requests, { timeoutMs, signal })[Symbol.asyncIterator]();
    const ask: Ask = async (messageRequest) => {
      const [, answer] = await Promise.all([requests.write({ messageRequest }), answers.next()]);
      if (answer.done === true) throw new DescriptorError("the upstream's reflection ended early");
      return answer.value.messageResponse;
    };
    try {
      return await read(ask, services);
    } catch (error) {
      if (!(error instanceof ConnectError && error.code === Code.Unimplemented)) throw error;
    } finally {
      requests.close();
      ended.abort(); // the iterators of Connect's clients have no return
    }
  }
  throw new DescriptorError("the upstream has no server reflection");
}

type Request = MessageInitShape<typeof ServerReflectionRequestSchema>;

/** One question and its answer. */
type Ask = (
  question: NonNullable<Request["messageRequest"]>,
) => Promise<ServerReflectionResponse["messageResponse"]>;

async function read(ask: Ask, given: readonly string[] | undefined): Promise<Descriptors> {
  const names = given ?? (await listServices(ask));
  const files = new Map<string, FileDescriptorProto>();

  async function add(question: Parameters<Ask>[0], what: string): Promise<void> {
    for (const file of parseFiles(await ask(question), what)) {
      if (!files.has(file.name)) files.set(file.name, file);
    }
    if (files.size > filesMax) throw new DescriptorError(`more than ${filesMax} files`);
  }

  for (const name of names) {
    if (![...files.values()].some((file) => declares(file, name))) {
      await add({ case: "fileContainingSymbol", value: name }, name);
    }
  }
  const asked = new Set<string>(wellKnownFiles.keys());
  for (const { dependency } of files.values()) {
    for (const name of dependency) {
      if (files.has(name) || asked.has(name)) continue;
      asked.add(name);
      await add({ case: "fileByFilename", value: name }, name);
    }
  }

  const descriptors = createDescriptors([...files.values()]);
  const missing = names.find((name) => descriptors.registry.getService(name) === undefined);
  if (missing !== undefined) {
    throw new DescriptorError(`the upstream's reflection does not describe ${missing}`);
  }
  const services = descriptors.services.filter(({ typeName }) => names.includes(typeName));
  return { ...descriptors, services };
}

async function listServices(ask: Ask): Promise<readonly string[]> {
  const answer = await ask({ case: "listServices", value: "*" });
  if (answer.case !== "listServicesResponse") throw noAnswer("its services", answer);
  const names = answer.value.service.map(({ name }) => name);
  return names.filter((name) => !name.startsWith("grpc."));
}

function parseFiles(
  answer: ServerReflectionResponse["messageResponse"],
  what: string,
): readonly FileDescriptorProto[] {
  if (answer.case !== "fileDescriptorResponse") throw noAnswer(what, answer);
  return answer.value.fileDescriptorProto.map((bytes) => {
    try {
      return fromBinary(FileDescriptorProtoSchema, bytes);
    } catch (cause) {
      const message = `the upstream's reflection of ${what} has a file that cannot be read`;
      throw new DescriptorError(message, { cause });
    }
  });
}

function noAnswer(
  what: string,
  answer: ServerReflectionResponse["messageResponse"],
): DescriptorError {
  const reason = answer.case === "errorResponse" ? `: ${answer.value.errorMessage}` : "";
  return new DescriptorError(`the upstream's reflection does not tell ${what}${reason}`);
}

function declares({ package: parent, service }: FileDescriptorProto, typeName: string): boolean {
  return service.some(({ name }) => (parent === "" ? name : `${parent}.${name}`) === typeName);
}
