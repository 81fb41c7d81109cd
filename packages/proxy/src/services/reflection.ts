import { hash } from "node:crypto";
import { fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createWritableIterable } from "@connectrpc/connect/protocol";
import {
  assertOptions,
  assertWireFormat,
  type GrpcTransport,
  optionKinds,
} from "connect-gateway/client";
import { timerMaxMs } from "connect-gateway/limits";
import {
  ServerReflection,
  ServerReflectionAlpha,
  type ServerReflectionRequestSchema,
  type ServerReflectionResponse,
} from "connect-gateway/reflection";
import {
  assertServices,
  createDescriptors,
  DescriptorError,
  type Descriptors,
  isOfServer,
  wellKnownFiles,
} from "./descriptors.ts";

export interface ReflectServicesOptions {
  /** Full names. Default: all that are listed, without health, reflection and channelz. */
  readonly services?: readonly string[] | undefined;
  /** Full names of messages that are read too, if the upstream knows them: for `google.protobuf.Any`. */
  readonly types?: readonly string[];
  /** Headers of these calls, such as a token. */
  readonly header?: (() => Readonly<Record<string, string>>) | undefined;
  /** How long it may take, in ms. Default: 10 s. */
  readonly timeoutMs?: number;
}

/** More than servers have, so that a server that names ever more of them comes to an end. */
const filesMax = 10_000;

/** Of all files: as many as 8 MiB of common ones have. A few bytes can become much, and block all. */
const valuesMax = 2 * 1024 * 1024;

/**
 * Reads the services of an upstream from its server reflection, v1 or else v1alpha. @throws {DescriptorError}
 * if it describes no service, or not one that is named; {ConnectError} of the upstream, or of the way to it.
 */
export async function reflectServices(
  transport: GrpcTransport,
  { services, types = [], header = () => ({}), timeoutMs = 10_000 }: ReflectServicesOptions = {},
): Promise<Descriptors> {
  let reason = "";
  for (const service of [ServerReflection, ServerReflectionAlpha]) {
    // Both packages have the same messages.
    const { serverReflectionInfo } = createClient(service as typeof ServerReflection, transport);
    const requests = createWritableIterable<Request>();
    const ended = new AbortController();
    const { signal } = ended;
    const answering = serverReflectionInfo(requests, { timeoutMs, signal, headers: header() });
    const answers = answering[Symbol.asyncIterator]();
    const ask: Ask = async (messageRequest) => {
      const [, answer] = await Promise.all([requests.write({ messageRequest }), answers.next()]);
      if (answer.done !== true) return answer.value.messageResponse;
      throw new ConnectError("the upstream's reflection ended early", Code.Unavailable);
    };
    try {
      return await read(ask, services, types);
    } catch (error) {
      if (!(error instanceof ConnectError && error.code === Code.Unimplemented)) throw error;
      reason = error.rawMessage || "UNIMPLEMENTED"; // as C++ servers answer
    } finally {
      requests.close();
      ended.abort(); // the iterators of Connect's clients have no return
    }
  }
  throw new DescriptorError(`the upstream has no reflection (${reason}): use a descriptor set`);
}

type Request = MessageInitShape<typeof ServerReflectionRequestSchema>;

type Ask = (
  question: NonNullable<Request["messageRequest"]>,
) => Promise<ServerReflectionResponse["messageResponse"]>;

async function read(
  ask: Ask,
  given: readonly string[] | undefined,
  types: readonly string[],
): Promise<Descriptors> {
  const names = given ?? (await listServices(ask));
  const files = new Map<string, FileDescriptorProto>();
  const declared = new Set<string>();
  const told = new Set<string>();
  let values = 0;

  /** @returns why the upstream does not tell; undefined if it does. */
  async function add(question: Parameters<Ask>[0], what: string): Promise<string | undefined> {
    const answer = await ask(question);
    if (answer.case !== "fileDescriptorResponse") return noAnswer(what, answer);
    for (const bytes of answer.value.fileDescriptorProto) {
      const text = Buffer.from(bytes).toString("latin1"); // imports may be told again
      if (told.has(text)) continue;
      told.add(text);
      try {
        values += bytes.length / 16 + assertWireFormat(FileDescriptorProtoSchema, bytes);
        if (values > valuesMax) break;
        const file = fromBinary(FileDescriptorProtoSchema, bytes);
        if (files.has(file.name)) continue;
        files.set(file.name, file);
        for (const { name } of file.service) declared.add(`${file.package}.${name}`);
      } catch {
        return `the upstream's reflection of ${what} has a file that cannot be read`;
      }
    }
    if (values > valuesMax) throw new DescriptorError(`more than ${valuesMax} values in its files`);
    if (files.size > filesMax) throw new DescriptorError(`more than ${filesMax} files`);
    return undefined;
  }

  const reasons = new Map<string, string | undefined>();
  for (const name of names) {
    if (declared.has(name.includes(".") ? name : `.${name}`)) continue;
    reasons.set(name, await add({ case: "fileContainingSymbol", value: name }, name));
  }
  for (const name of types) await add({ case: "fileContainingSymbol", value: name }, name);
  const asked = new Set<string>(wellKnownFiles.keys());
  for (const { dependency } of files.values()) {
    for (const name of dependency) {
      if (files.has(name) || asked.has(name)) continue;
      asked.add(name);
      await add({ case: "fileByFilename", value: name }, name);
    }
  }

  const described = createDescriptors([...files.values()]);
  const services = names.flatMap((name) => described.registry.getService(name) ?? []);
  const found = new Set(services.map(({ typeName }) => typeName));
  const lost = names.filter((name) => !found.has(name));
  const broken = [...described.broken, ...lost.flatMap((name) => reasons.get(name) ?? [])];
  if (lost.length > broken.length) {
    broken.push(`the upstream's reflection does not describe ${lost.join(", ")}`);
  }
  const descriptors = { ...described, services, broken };
  if (given !== undefined && lost.length > 0) throw new DescriptorError(broken.join("; "));
  assertServices(descriptors, "the upstream's reflection lists no service to serve");
  return descriptors;
}

async function listServices(ask: Ask): Promise<readonly string[]> {
  const answer = await ask({ case: "listServices", value: "*" });
  if (answer.case !== "listServicesResponse") {
    throw new DescriptorError(noAnswer("its services", answer));
  }
  return answer.value.service.map(({ name }) => name).filter((name) => !isOfServer(name));
}

function noAnswer(what: string, answer: ServerReflectionResponse["messageResponse"]): string {
  const reason = answer.case === "errorResponse" ? `: ${answer.value.errorMessage}` : "";
  return `the upstream's reflection does not tell ${what}${reason}`;
}

export interface ReflectionWatchOptions
  extends Pick<ReflectServicesOptions, "services" | "header"> {
  readonly transport: GrpcTransport;
  /** How often the upstream is asked, in ms. Default: 5 minutes. */
  readonly intervalMs?: number;
  /** Makes a gateway of descriptors. If it throws, the previous ones stay. */
  readonly onChange: (descriptors: Descriptors) => void;
  /** Called with each new reason why reading fails. The previous services stay; it is retried soon. */
  readonly onError: (error: unknown) => void;
}

const kinds = optionKinds<ReflectionWatchOptions>()({
  object: "transport",
  "list of strings": "services",
  function: "header onChange onError",
  "positive number": "intervalMs",
});

export type ReflectionWatch = ReturnType<typeof watchReflection>;

/** Also between attempts while reading fails. */
const pauseMs = 1000;

/** More types than responses have that no service's file imports. */
const typesMax = 1000;

/**
 * Reads the services of an upstream from its server reflection: now, at intervals, and when a connection is
 * lost, as another release may take the server's place. @throws {TypeError} for a wrong option.
 */
export function watchReflection(options: ReflectionWatchOptions) {
  assertOptions("watchReflection", options, kinds, ["transport", "onChange", "onError"]);
  const { transport, services, header, intervalMs = 5 * 60_000, onChange, onError } = options;
  let current: Descriptors | undefined;
  let usedDigest: string | undefined;
  let failure: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let readAt = 0;
  let isReading = false;
  let isStale = false;
  const types = new Set<string>();
  let isClosed = false;
  const retryMs = Math.min(pauseMs, intervalMs);

  function schedule(ms: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void read(), Math.min(ms, timerMaxMs)).unref();
  }

  async function read(): Promise<void> {
    readAt = performance.now();
    isReading = true;
    isStale = false;
    let pause = intervalMs;
    try {
      const descriptors = await reflectServices(transport, { services, types: [...types], header });
      if (!isClosed) use(descriptors);
      failure = undefined;
    } catch (error) {
      if (!isClosed && failure !== `${error}`) onError(error);
      failure = `${error}`;
      // Wrong files take time, and stay wrong until another release, which ends a connection.
      pause = error instanceof DescriptorError ? 10 * retryMs : retryMs;
    }
    isReading = false;
    schedule(isStale ? retryMs : pause);
  }

  function use(descriptors: Descriptors): void {
    const digest = digestOf(descriptors);
    if (digest === usedDigest) return;
    // If this throws, those before are a change when they are told again.
    usedDigest = undefined;
    onChange(descriptors);
    usedDigest = digest;
    current = descriptors;
  }

  function refresh(): void {
    if (isReading)
      isStale = current !== undefined; // the answer may be outdated
    else schedule(Math.max(0, readAt + retryMs - performance.now()));
  }

  const forget = transport.onDisconnect(refresh);
  void read();
  return {
    /** The last that were right; undefined until the first have come. */
    get descriptors() {
      return current;
    },
    /** Asks the upstream, at most once a second: for `onUnimplemented` of `proxyServices`. */
    refresh,
    /** Asks the upstream for a type too, from now on: for `onUnknownType` of a gateway. */
    learn(typeName: string): void {
      if (types.has(typeName) || types.size === typesMax) return;
      types.add(typeName);
      refresh();
    },
    close(): void {
      isClosed = true;
      forget();
      clearTimeout(timer);
    },
  };
}

/** Servers may tell the same files in another order. */
function digestOf({ services, registry }: Descriptors): string {
  const files = [...registry.files].map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  const texts = files.map((bytes) => Buffer.from(bytes).toString("base64"));
  const names = services.map(({ typeName }) => typeName);
  return hash("sha256", JSON.stringify([names.sort(), texts.sort()]));
}
