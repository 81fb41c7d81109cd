import { createHash } from "node:crypto";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { assertOptions, type GrpcTransport, type OptionKindsOf } from "connect-gateway/client";
import type { Descriptors } from "./descriptors.ts";
import { reflectServices } from "./reflection.ts";

export interface ReflectionWatchOptions {
  readonly transport: GrpcTransport;
  /** As of `reflectServices`. */
  readonly services?: readonly string[] | undefined;
  /** How often the upstream is asked, in ms. Default: 5 minutes. */
  readonly intervalMs?: number;
  /**
   * Told of the descriptors, the first and each that differ: make a gateway of them, and let it take
   * the place of the one before. Where it throws, those before stay, and `onError` is told.
   */
  readonly onChange: (descriptors: Descriptors) => void;
  /** Told when reading has failed. What was read before stays; it is tried again soon. */
  readonly onError: (error: unknown) => void;
}

const optionKinds: OptionKindsOf<ReflectionWatchOptions> = {
  transport: "object",
  services: "list",
  intervalMs: "number",
  onChange: "function",
  onError: "function",
};

/** The services of an upstream, which may become others. */
export interface ReflectionWatch {
  /** The last that were right; undefined until the first have come. */
  readonly descriptors: Descriptors | undefined;
  /** Asks the upstream, at most once a second: for `onUnimplemented` of `proxyServices`. */
  refresh(): void;
  /** Asks the upstream for a type too, from now on: for `onUnknownType` of a gateway. */
  learn(typeName: string): void;
  /** Asks no more. */
  close(): void;
}

const intervalMsDefault = 5 * 60_000;

/** Also between attempts while reading fails. */
const pauseMs = 1000;

/** More types than responses have that no service's file imports. */
const typesMax = 1000;

/**
 * Reads the services of an upstream from its server reflection: now, at intervals, and when a
 * connection is lost, as another release may take the server's place.
 *
 * @throws {TypeError} for an unknown option.
 */
export function watchReflection(options: ReflectionWatchOptions): ReflectionWatch {
  assertOptions("watchReflection", options, optionKinds);
  const { transport, services, intervalMs = intervalMsDefault, onChange, onError } = options;
  let current: { readonly descriptors: Descriptors; readonly digest: string } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let readAt = Number.NEGATIVE_INFINITY;
  let nextAt = Number.POSITIVE_INFINITY;
  let isReading = false;
  let isStale = false;
  const types = new Set<string>();
  let isClosed = false;

  /** Reads after that long, or before if that was the plan. */
  function schedule(ms: number): void {
    const at = performance.now() + ms;
    if (isClosed || isReading || at >= nextAt) return;
    clearTimeout(timer);
    nextAt = at;
    timer = setTimeout(() => void read(), ms).unref();
  }

  async function read(): Promise<void> {
    nextAt = Number.POSITIVE_INFINITY;
    readAt = performance.now();
    isReading = true;
    let isRight = false;
    try {
      const descriptors = await reflectServices(transport, { services, types: [...types] });
      if (!isClosed) use(descriptors);
      isRight = true;
    } catch (error) {
      if (!isClosed) onError(error);
    }
    isReading = false;
    schedule(isRight && !isStale ? intervalMs : Math.min(pauseMs, intervalMs));
    isStale = false;
  }

  function use(descriptors: Descriptors): void {
    const digest = digestOf(descriptors);
    if (digest === current?.digest) return;
    const before = current;
    current = { descriptors, digest };
    try {
      onChange(descriptors);
    } catch (error) {
      current = before;
      throw error;
    }
  }

  function refresh(): void {
    if (isReading) isStale = current !== undefined; // what is read may be old
    schedule(Math.max(0, readAt + pauseMs - performance.now()));
  }

  const forget = transport.onDisconnect(refresh);
  void read();
  return {
    get descriptors() {
      return current?.descriptors;
    },
    refresh,
    learn(typeName) {
      if (types.has(typeName) || types.size === typesMax) return;
      types.add(typeName);
      refresh();
    },
    close() {
      isClosed = true;
      forget();
      clearTimeout(timer);
    },
  };
}

/** Servers may tell the same files in another order. */
function digestOf({ services, registry }: Descriptors): string {
  const hash = createHash("sha256");
  for (const { typeName } of services.toSorted(byName(({ typeName }) => typeName))) {
    hash.update(`${typeName}\n`);
  }
  for (const { proto } of [...registry.files].sort(byName(({ proto }) => proto.name))) {
    hash.update(toBinary(FileDescriptorProtoSchema, proto));
  }
  return hash.digest("base64");
}

function byName<T>(nameOf: (value: T) => string): (a: T, b: T) => number {
  return (a, b) => (nameOf(a) < nameOf(b) ? -1 : 1);
}
