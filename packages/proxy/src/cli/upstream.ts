import { readFileSync } from "node:fs";
import {
  type CallOptions,
  Code,
  ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import type { Log } from "connect-gateway/logging";
import type { HttpRule } from "connect-gateway/protos";
import { CommandFailure } from "connect-gateway-kit/command/run";
import { type Descriptors, readDescriptors } from "../services/index.ts";
import { openHttpUpstream } from "./http-upstream.ts";
import { restOptionsOf, type Settings } from "./settings.ts";
import { readHeaderFile, type UpstreamPlace, watchUpstreamTls } from "./upstream-place.ts";

export interface Upstream {
  readonly place: UpstreamPlace;
  /** @param rules For a REST server. */
  readonly transportBy: (rules: readonly HttpRule[]) => Transport;
  readonly grpc: GrpcTransport | undefined;
  readonly ownHeaders: () => Readonly<Record<string, string>>;
  /** Reads the files of headers again. @throws {Error} if one is wrong. */
  readonly reload: () => void;
  readonly ask: (signal: AbortSignal) => Promise<void>;
  readonly close: () => void;
}

export function openUpstreams(
  settings: Settings,
  onTlsError: (error: unknown) => void,
): readonly Upstream[] {
  const { bodyBytesMax: readMaxBytes, messageValuesMax: readMaxValues } = settings.limits;
  const rest = { readMaxBytes, readMaxValues, int64: restOptionsOf(settings).int64 };
  return settings.upstreams.map((place) => {
    const { url, authority, protocol } = place;
    const tls = watchUpstreamTls(place.tls, onTlsError);
    const read = () => {
      const { headerFile, ownHeaderFile } = place;
      return { ofCalls: readHeaderFile(headerFile), own: readHeaderFile(ownHeaderFile) };
    };
    const headers = read();
    const header = () => headers.ofCalls;
    const ownHeaders = () => headers.own;
    const common = { place, ownHeaders, reload: () => Object.assign(headers, read()) };
    if (protocol !== "grpc") {
      const http = openHttpUpstream(place, rest, tls, header, ownHeaders);
      return { ...common, grpc: undefined, ...http };
    }
    const limits = { readMaxBytes, readMaxValues, quietMsMax: settings.upstreamQuietMs };
    const extra = place.headerFile === undefined ? limits : { ...limits, header };
    const transport = openGrpcTransport({ url, authority, tls, ...extra });
    const ask = (signal: AbortSignal) => askHealth(transport, { signal, headers: ownHeaders() });
    const close = () => transport.close();
    return { ...common, transportBy: () => transport, grpc: transport, ask, close };
  });
}

export function readDescriptorFile(file: string): Descriptors {
  try {
    return readDescriptors(readFileSync(file));
  } catch (cause) {
    throw new CommandFailure(2, `${file}: ${(cause as Error).message}`, { cause });
  }
}

const checkIntervalMs = 1000;

/** Asks a server once a second whether it is ready. @param log Told why it is not, and when again. */
export function watchHealth({ ask, place }: Upstream, log: Log) {
  let isReady: boolean | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function check(): Promise<void> {
    const late = AbortSignal.timeout(checkIntervalMs);
    try {
      await ask(late);
      if (isReady === false && !isClosed) log.info(`${place.url} is ready again`);
      isReady = true;
    } catch (error) {
      const reason = late.aborted ? new Error("it did not answer within 1 s") : error;
      if (isReady !== false && !isClosed) log.warn(`${place.url} is not ready`, reason);
      isReady = false;
    }
    if (!isClosed) timer = setTimeout(() => void check(), checkIntervalMs).unref();
  }

  void check();
  return {
    isReady: () => isReady === true,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** A server without `grpc.health` is ready if it answers. */
async function askHealth(transport: GrpcTransport, options: CallOptions): Promise<void> {
  try {
    const { status } = await createClient(Health, transport).check({}, options);
    if (status !== HealthCheckResponse_ServingStatus.SERVING) throw new Error("it is not serving");
  } catch (error) {
    if (!silent.includes(ConnectError.from(error).code)) throw error;
  }
}

/** It answers, without a health service. */
const silent = [Code.Unimplemented, Code.NotFound, Code.Unauthenticated, Code.PermissionDenied];
