/** One of the suite's own servers, which are written in Go, behind the proxy. */
import { spawn } from "node:child_process";
import { createRegistry } from "@bufbuild/protobuf";
import { openGrpcTransport } from "connect-gateway/client";
import { defaultRequestMetadata, proxyServices } from "../../../src/services/index.ts";
import { HTTPVersion, Protocol } from "../gen/connectrpc/conformance/v1/config_pb.ts";
import {
  ServerCompatRequestSchema,
  ServerCompatResponseSchema,
} from "../gen/connectrpc/conformance/v1/server_compat_pb.ts";
import {
  ConformanceService,
  file_connectrpc_conformance_v1_service,
} from "../gen/connectrpc/conformance/v1/service_pb.ts";
import { readMessage, writeMessage } from "./delimited.ts";

/** Headers of the suite that it expects its server to see. */
const requestMetadata = [...defaultRequestMetadata, "x-conformance-test", "x-custom-header"];

/** Above all limits that the suite sets: those are the proxy's. */
const messageReceiveLimit = 64 * 1024 * 1024;

export async function startUpstream(file: string) {
  const program = spawn(file, { stdio: ["pipe", "pipe", "inherit"] });
  const request = {
    protocol: Protocol.GRPC,
    httpVersion: HTTPVersion.HTTP_VERSION_2,
    messageReceiveLimit,
  };
  writeMessage(ServerCompatRequestSchema, request, program.stdin);
  program.stdin.end();
  const { host, port } = await readMessage(ServerCompatResponseSchema, program.stdout);
  const transport = openGrpcTransport({ url: `http://${host}:${port}` });
  const registry = createRegistry(file_connectrpc_conformance_v1_service);
  const services = [ConformanceService];
  return {
    routes: proxyServices({ services, registry, transport, requestMetadata }),
    close() {
      transport.close();
      program.kill();
    },
  };
}
