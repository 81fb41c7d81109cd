import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { addHealth, createHealthHandlers } from "../../src/health/index.ts";
import { addReflection } from "../../src/reflection/index.ts";
import { type ServeOptions, type Server, serve } from "../../src/server/index.ts";
import { CatalogService, type Volume, VolumeSchema } from "../gen/library/v1/catalog_pb.ts";
import { within } from "./within.ts";

/** A catalog on a port of the package, with health and reflection. */
export interface TestService extends AsyncDisposable {
  readonly port: number;
  /** Without a path. */
  readonly origin: string;
  /** The volumes of complete CreateVolume requests. */
  readonly created: readonly Volume[];
  /** What `onError` received. */
  readonly errors: readonly unknown[];
  readonly drain: Server["drain"];
  readonly update: Server["update"];
  /** Blocks every CreateVolume call from now on. */
  hold(): Hold;
}

export interface Hold extends Disposable {
  /** Resolves when a call is blocked. */
  untilBegun(): Promise<void>;
  /** Lets all calls continue. */
  release(): void;
}

export interface ServiceOptions extends Partial<Omit<ServeOptions, "onError">> {
  /** Replaces methods of the catalog. */
  readonly catalog?: Partial<ServiceImpl<typeof CatalogService>>;
  /** Whether `onError` may be called. Default: no, the test fails. */
  readonly mayFail?: boolean;
}

/** Admits requests with any token. */
export const tokenGate: NonNullable<ServeOptions["requestGate"]> = ({ requestHeader }) => {
  if (requestHeader.has("authorization")) return;
  throw new ConnectError("there is no token", Code.Unauthenticated);
};

/** Opens it on a free port of 127.0.0.1. */
export async function openTestService(options: ServiceOptions = {}): Promise<TestService> {
  const { catalog, mayFail = false, ...given } = options;
  const created: Volume[] = [];
  const errors: unknown[] = [];
  let held: { readonly begin: () => void; readonly released: Promise<void> } | undefined;

  const service: Partial<ServiceImpl<typeof CatalogService>> = {
    async createVolume({ parent, volume = create(VolumeSchema) }, { signal }) {
      created.push(volume);
      held?.begin();
      await Promise.race([held?.released, held && rejectOnAbort(signal)]);
      return { ...volume, name: `${parent}/volumes/${volume.id}` };
    },
    /** Returns one volume, and continues until the call is aborted. */
    async *watchVolumes({ parent }, { signal }) {
      yield { name: `${parent}/volumes/1` };
      await rejectOnAbort(signal);
    },
    ...catalog,
  };

  function hold(): Hold {
    const begun = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    held = { begin: begun.resolve, released: released.promise };
    const release = () => {
      held = undefined;
      released.resolve();
    };
    return {
      untilBegun: () => within("a call that is held up", begun.promise),
      release,
      [Symbol.dispose]: release,
    };
  }

  const server = await serve({
    host: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    routes: (router, { draining }) => {
      router.service(CatalogService, service);
      addHealth(router, { draining });
      addReflection(router, { draining });
    },
    handlers: ({ draining }) => createHealthHandlers({ draining }),
    ...given,
  });
  const { port } = server.address;

  return {
    port,
    origin: `${given.tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    created,
    errors,
    drain: server.drain,
    update: server.update,
    hold,
    async [Symbol.asyncDispose]() {
      await within("the end of the server", server.drain(0));
      if (errors.length > 0 && !mayFail) {
        throw new Error("the server reported an error", { cause: errors[0] });
      }
    },
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort);
  });
}
