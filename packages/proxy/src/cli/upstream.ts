/** Upstreams: their services and their health. */
import { readFileSync } from "node:fs";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { type GrpcTransport, openGrpcTransport } from "connect-gateway/client";
import { Health, HealthCheckResponse_ServingStatus } from "connect-gateway/health";
import { CommandFailure } from "../command/run.ts";
import { type Descriptors, readDescriptors } from "../services/index.ts";
import type { Settings } from "./settings.ts";
import { type UpstreamPlace, watchUpstreamTls } from "./upstream-place.ts";

export interface Upstream {
  readonly place: UpstreamPlace;
  readonly transport: GrpcTransport;
}

export function openUpstreams(
  { upstreams, limits: { bodyBytesMax, messageValuesMax } }: Settings,
  onTlsError: (error: unknown) => void,
): readonly Upstream[] {
  return upstreams.map((place) => ({
    place,
    transport: openGrpcTransport({
      url: place.url,
      authority: place.authority,
      tls: watchUpstreamTls(place.tls, onTlsError),
      readMaxBytes: bodyBytesMax,
      readMaxValues: messageValuesMax,
    }),
  }));
}

export function readDescriptorFile(file: string): Descriptors {
  try {
    return readDescriptors(readFileSync(file));
  } catch (cause) {
    throw new CommandFailure(2, `${file}: ${(cause as Error).message}`, { cause });
  }
}

const checkIntervalMs = 1000;

/** Asks a server's health once a second. One without `grpc.health` is ready if it answers. */
export function watchHealth(transport: GrpcTransport): { isReady(): boolean; close(): void } {
  const client = createClient(Health, transport);
  let isReady = false;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  async function check(): Promise<void> {
    try {
      const { status } = await client.check({}, { timeoutMs: checkIntervalMs });
      isReady = status === HealthCheckResponse_ServingStatus.SERVING;
    } catch (error) {
      isReady = silent.includes(ConnectError.from(error).code);
    }
    if (!isClosed) timer = setTimeout(() => void check(), checkIntervalMs).unref();
  }

  void check();
  return {
    isReady: () => isReady && transport.isConnected,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/** It answers, without a health service. */
const silent = [Code.Unimplemented, Code.NotFound, Code.Unauthenticated, Code.PermissionDenied];
