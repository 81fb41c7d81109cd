/**
 * The server under test: reads from standard input what to serve, writes its address to standard
 * output, and serves until SIGTERM. An argument names a gRPC server to serve through the proxy, in
 * place of our own implementation.
 */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createRegistry } from "@bufbuild/protobuf";
import { compressionGzip } from "connect-gateway";
import { serve, type TlsFiles } from "connect-gateway/server";
import { createTemporaryFolder } from "../../../../gateway/test/support/temporary-folder.ts";
import type { TLSCreds } from "../gen/connectrpc/conformance/v1/config_pb.ts";
import {
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "../gen/connectrpc/conformance/v1/server_compat_pb.ts";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { readMessage, writeMessage } from "./delimited.ts";
import { conformanceService } from "./service.ts";
import { startUpstream } from "./upstream.ts";

/** If the suite itself is killed, it does not end its servers. */
const lifetimeMaxMs = 300_000;

const { serverCreds, messageReceiveLimit } = await readMessage(
  ServerCompatRequestSchema,
  process.stdin,
);
await using folder = await createTemporaryFolder();
const upstream = process.argv[2] === undefined ? undefined : await startUpstream(process.argv[2]);
const server = await serve({
  host: "127.0.0.1",
  port: 0,
  tls: serverCreds && (await writeTlsFiles(serverCreds)),
  routes:
    upstream?.routes ??
    ((router) => {
      router.service(ConformanceService, conformanceService);
    }),
  readMaxBytes: messageReceiveLimit,
  acceptCompression: [compressionGzip],
  // Requests are echoed in google.protobuf.Any, also in JSON.
  jsonOptions: { registry: createRegistry(file_connectrpc_conformance_v1_service) },
  onTlsError: (error) => {
    throw error;
  },
});
writeMessage(
  ServerCompatResponseSchema,
  {
    host: server.address.address,
    port: server.address.port,
    pemCert: serverCreds?.cert ?? new Uint8Array(),
  },
  process.stdout,
);
await once(process, "SIGTERM", { signal: AbortSignal.timeout(lifetimeMaxMs) });
await server.drain(0);
upstream?.close();

async function writeTlsFiles({ cert, key }: TLSCreds): Promise<TlsFiles> {
  const files = {
    certFile: join(folder.path, "server.crt"),
    keyFile: join(folder.path, "server.key"),
  };
  await writeFile(files.certFile, cert);
  await writeFile(files.keyFile, key);
  return files;
}
